// Set the theme before anything is painted; follow links without loading the page; handle keys.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => (document.cookie.match(/(?:^|; )hopline_theme=(light|dark)/) || [])[1];
  const paint = () => {
    root.dataset.chosen = kept() || "system";
    root.dataset.theme = kept() || (dark.matches ? "dark" : "light");
  };
  const nextTheme = () => {
    const other = { system: dark.matches ? "light" : "dark", light: dark.matches ? "system" : "dark", dark: dark.matches ? "light" : "system" };
    const next = other[root.dataset.chosen];
    const age = next === "system" ? 0 : 31536000;
    document.cookie = `hopline_theme=${next}; Path=/; SameSite=Lax; Max-Age=${age}`;
    paint();
  };
  paint();
  dark.addEventListener("change", paint);

  // For another URL of the same page, send the URL to the server, which returns the differences.
  const tell = () => emitEvent("hopline", location.pathname + location.search);
  const go = (url) => {
    if (url.pathname !== location.pathname) return location.assign(url);
    if (url.href !== location.href) history.pushState({}, "", url);
    document.querySelectorAll("[popover]:popover-open").forEach((open) => open.hidePopover());
    tell();
  };
  const plain = (event) => !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button);
  addEventListener("popstate", tell);
  addEventListener("click", (event) => {
    const link = event.target.closest("a[data-soft]");
    if (link && plain(event)) {
      event.preventDefault();
      go(new URL(link.href.baseVal ?? link.href, location));
    } else if (event.target.closest("[data-theme-button]")) nextTheme();
  });
  addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-soft]")) return;
    event.preventDefault();
    const url = new URL(event.target.action, location);
    for (const [name, value] of new FormData(event.target)) if (value) url.searchParams.set(name, value);
    if (event.target.matches("[role=search]")) leave(); // the user now reads the result of the search
    go(url);
  });
  addEventListener("change", (event) => {
    if (event.target.matches("form[data-soft] select, form[data-soft] input[type=checkbox]")) event.target.form.requestSubmit();
  });

  // Content is replaced as a whole, so restore the focus to the element with the same id.
  let focused = "";
  const leave = () => {
    focused = "";
    document.activeElement.blur();
  };
  addEventListener("focusin", (event) => (focused = event.target.id));
  addEventListener("focusout", (event) => event.relatedTarget && (focused = event.relatedTarget.id));
  addEventListener("pointerdown", () => (focused = ""));
  const refocus = () => {
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  addEventListener("DOMContentLoaded", () => new MutationObserver(refocus).observe(document.body, { childList: true, subtree: true }));

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input")) leave();
    if (!plain(event) || event.target.matches("input, select, textarea")) return;
    if (event.key === "t") nextTheme();
    const wanted = [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === event.key);
    if (!wanted) return;
    event.preventDefault();
    if (wanted.matches("input")) wanted.focus();
    else wanted.click();
  });
})();
