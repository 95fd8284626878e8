// Brings a drawing to life when a pointer comes near: the same chart, drawn again by Vega, with tooltips.
const refuse = () => Promise.reject(new Error("this page loads nothing"));
const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse };
let packed;

// what all charts of the page are drawn from, unpacked when the first is wanted
function charts() {
  packed ??= (async () => {
    const { deflated } = JSON.parse(document.getElementById("charts").textContent);
    const bytes = Uint8Array.from(atob(deflated), (char) => char.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  })();
  return packed;
}

const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
document.body.append(tip);

function line(name, value) {
  const row = document.createElement("div");
  const term = document.createElement("span");
  term.textContent = name;
  const text = document.createElement("b");
  text.textContent = String(value);
  row.append(term, text);
  return row;
}

// what a mark stands for, as text nodes: a datum may hold anybody's words
function tell(fields, event, datum) {
  const known = datum === null || typeof datum !== "object" ? [] : fields.filter(([field]) => datum[field] !== null && datum[field] !== undefined);
  tip.hidden = known.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...known.map(([field, name]) => line(name, datum[field])));
  const room = tip.getBoundingClientRect();
  const left = event.clientX + 14 + room.width > innerWidth ? event.clientX - 14 - room.width : event.clientX + 14;
  const top = event.clientY + 14 + room.height > innerHeight ? event.clientY - 14 - room.height : event.clientY + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

async function enliven(chart) {
  const all = await charts();
  const { spec, fields } = structuredClone(all.charts[chart.dataset.chart]);
  for (const [name, { names, rows }] of Object.entries(spec.datasets)) {
    spec.datasets[name] = rows.map((row) => Object.fromEntries(names.map((field, place) => [field, row[place]])));
  }
  const drawn = chart.querySelector("svg");
  const host = document.createElement("div");
  const result = await vegaEmbed(host, { ...all.common, ...spec }, {
    mode: "vega-lite", ast: true, renderer: "svg", actions: false, defaultStyle: false, hover: false, loader, logLevel: 1, // errors alone
    tooltip: (_, event, __, datum) => tell(fields, event, datum),
  });
  const alive = host.querySelector("svg");
  alive.setAttribute("role", "img");
  alive.setAttribute("aria-label", drawn.getAttribute("aria-label"));
  alive.classList.remove("marks");
  drawn.replaceWith(host);
  chart.dataset.state = "alive";
  return result;
}

for (const chart of document.querySelectorAll(".chart")) {
  const start = () => {
    if (chart.dataset.state) return;
    chart.dataset.state = "waking";
    enliven(chart).catch(() => { chart.dataset.state = "still"; }); // the drawing stays
  };
  chart.addEventListener("pointerenter", start, { once: true });
  chart.addEventListener("pointerdown", start, { once: true });
  chart.addEventListener("pointerleave", () => { tip.hidden = true; });
}
addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
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
reveal();
addEventListener("beforeprint", () => {
  for (const shelf of document.querySelectorAll("details:not([open])")) { shelf.open = true; shelf.dataset.printed = ""; }
});
addEventListener("afterprint", () => {
  for (const shelf of document.querySelectorAll("details[data-printed]")) { shelf.open = false; delete shelf.dataset.printed; }
});
performance.mark("ready");
