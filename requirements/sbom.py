"""``python -m requirements.sbom FOLDER``: a CycloneDX SBOM of each image, IMAGE.cdx.json.

Part of `make sbom`. It lists Python packages, jars, and the jars inside pyspark. Debian's packages
are not in it: which versions an image has is known only when it is built (docs/supply_chain.md).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from requirements.notices import NOT_STATED, stated
from requirements.parts import IMAGES, bundled, jars, packages


def sbom(image: str) -> str:
    """Return the SBOM of one image as JSON of CycloneDX 1.6."""
    licences = stated()
    hopline = Component(
        name="hopline",
        version=version("hopline"),
        type=ComponentType.APPLICATION,
        bom_ref="hopline",
    )
    bom = Bom()
    bom.metadata.component = Component(
        name=f"hopline/{image}", type=ComponentType.CONTAINER, bom_ref=image
    )
    python = {
        p.name: _component("pypi", None, p.name, p.version, licences) for p in packages(image)
    }
    java = [
        _component("maven", j.group, j.artifact, j.version, licences, j.sha256) for j in jars(image)
    ]
    inside = [
        _component("maven" if b.group else "generic", b.group, b.name, b.version, {})
        for b in bundled(image)
    ]
    bom.components.update([hopline, *python.values(), *java, *inside])
    bom.register_dependency(bom.metadata.component, [hopline])
    direct = [python[p.name] for p in packages(image) if "hopline" in p.needed_by]
    bom.register_dependency(hopline, [*direct, *java])
    for package in packages(image):
        needs = [python[p.name] for p in packages(image) if package.name in p.needed_by]
        bom.register_dependency(
            python[package.name], [*needs, *(inside if package.name == "pyspark" else ())]
        )
    return JsonV1Dot6(bom).output_as_string(indent=1)


def _component(
    kind: str,
    group: str | None,
    name: str,
    number: str,
    licences: Mapping[tuple[str, str], str],
    sha256: str | None = None,
) -> Component:
    url = PackageURL(kind, group, name, number)
    stated_as = licences.get((f"{group}:{name}" if group else name, number), NOT_STATED)
    return Component(
        name=name,
        group=group,
        version=number,
        purl=url,
        bom_ref=url.to_string(),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else (),
        licenses=[] if stated_as == NOT_STATED else [LicenseFactory().make_from_string(stated_as)],
    )


def main(folder: Path) -> None:
    """Write the SBOM of every image into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for image in IMAGES:
        path = folder / f"{image}.cdx.json"
        path.write_text(sbom(image) + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
