"""The documentation site: the pages of ``docs/``, and a reference made from the code.

``make docs`` builds it with MkDocs into ``build/site``. ``hook.py`` is what MkDocs calls.
"""
