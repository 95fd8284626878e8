// what a link names is shown: browsers open the fold around it themselves, older ones not
function reveal() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let closed = false;
  for (let fold = named?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    closed ||= !fold.open;
    fold.open = true;
  }
  if (closed) named.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => {
  for (const shelf of document.querySelectorAll("details:not([open])")) { shelf.open = true; shelf.dataset.printed = ""; }
});
addEventListener("afterprint", () => {
  for (const shelf of document.querySelectorAll("details[data-printed]")) { shelf.open = false; delete shelf.dataset.printed; }
});
reveal();
performance.mark("ready");
