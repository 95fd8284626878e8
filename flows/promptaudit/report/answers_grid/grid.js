// Draws the answers grid once it comes into view: one grid for each model, task and strategy. Whatever a model or a person said
// becomes text nodes, never markup; it is made visible before it is packed.
(() => {
  const section = document.getElementById("answers");
  const host = section.querySelector(".grid-host");
  const dialog = section.querySelector("dialog");
  const PAGE = 40; // rows drawn at once
  const N_COLOURS = 8;
  const NOT_VALID = { empty: "∅", truncated: "⋯", refused: "⊘", unparsed: "?", error: "!" };
  const RULINGS = { right: ["✓", "right"], wrong: ["✗", "wrong"], "partly right": ["~", "partly"] };
  const chosen = { label: "", gold: "", ruling: "", status: "" };
  let all;
  let own = null; // how samples were shown under variants that show each in its own way
  const own_at = new Map(); // the place there of a variant and a sample
  let grid; // the chosen group, with its rows
  let colour = "label";
  let n_drawn = PAGE;

  function make(tag, name, ...children) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...children);
    return made;
  }

  const counted = (n) => n.toLocaleString("en");
  const task = () => all.tasks[grid.task];
  const sampleOf = (row) => all.samples[grid.rows[row.place]];
  const wordingOf = (column) => all.variants[grid.wordings[grid.by_repetition ? 0 : column]];

  function inflated(text) {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }

  async function unpack() {
    const { deflated, shown } = JSON.parse(document.getElementById("answers-packed").textContent);
    all = await inflated(deflated);
    if (!shown) return;
    own = await inflated(shown);
    own.variant.forEach((variant, at) => own_at.set(`${variant} ${own.sample[at]}`, at));
  }

  // a group with the places of its answers by row and column: a column is a wording, a repetition where there is one wording
  function laidOut(group) {
    const by_repetition = group.wordings.length === 1;
    let at = 0;
    let n_columns = group.wordings.length;
    const rows = group.n.map((n, place) => {
      const cells = new Map();
      for (const end = at + n; at < end; at += 1) {
        const column = by_repetition ? group.repetition[at] - 1 : group.wording[at];
        n_columns = Math.max(n_columns, column + 1);
        cells.set(column, [...(cells.get(column) ?? []), at]);
      }
      return { place, cells, ways: new Map() };
    });
    return { ...group, by_repetition, n_columns, laid: rows };
  }

  // the distinct completions of a sample, the commonest first
  function wayOf(row, at) {
    if (row.ways.size === 0) {
      const times = new Map();
      for (const each of [...row.cells.values()].flat()) {
        const said = grid.completion[each];
        times.set(said, (times.get(said) ?? 0) + 1);
      }
      [...times].sort((a, b) => b[1] - a[1]).forEach(([said], place) => row.ways.set(said, place));
    }
    return row.ways.get(grid.completion[at]);
  }

  // how one answer looks: what tells it apart from others, its sign, its paint, in words
  function lookOf(row, at) {
    const status = all.statuses[grid.status[at]];
    if (colour === "ruling") {
      const ruling = all.rulings[grid.ruling[at]];
      const [sign, paint] = RULINGS[ruling] ?? ["–", "na"];
      return { key: ruling, sign, paint, word: ruling ?? "not scored" };
    }
    if (colour === "completion" && grid.completion[at] >= 0) {
      const way = wayOf(row, at);
      const sign = way < 26 ? String.fromCharCode(65 + way) : "+";
      return { key: way, sign, paint: painted(way), word: `completion ${sign}` };
    }
    const label = grid.label[at];
    if (colour === "completion" || label < 0) {
      return { key: status, sign: NOT_VALID[status] ?? "?", paint: "na", word: `N/A, ${status}` };
    }
    return { key: label, sign: task().signs[label], paint: painted(label), word: task().labels[label] };
  }

  const painted = (place) => `c${place % N_COLOURS}${place >= N_COLOURS ? " striped" : ""}`;

  function matches(row, at) {
    const ruling = all.rulings[grid.ruling[at]] ?? "not scored";
    return (chosen.label === "" || String(grid.label[at]) === chosen.label)
      && (chosen.gold === "" || (sampleOf(row).gold ?? "") === chosen.gold)
      && (chosen.ruling === "" || ruling === chosen.ruling)
      && (chosen.status === "" || all.statuses[grid.status[at]] === chosen.status);
  }

  // the commonest look of the answers of a cell, and whether they differ
  function cellOf(row, column) {
    const looks = row.cells.get(column).map((at) => lookOf(row, at));
    const times = (look) => looks.filter((other) => other.key === look.key).length;
    const look = looks.reduce((best, each) => (times(each) > times(best) ? each : best));
    return { look, n: looks.length, is_mixed: times(look) < looks.length };
  }

  function columnName(column) {
    if (grid.by_repetition) return `repetition ${column + 1}`;
    const { variant_index, paraphrase_temperature, is_original, kind } = wordingOf(column);
    const temperature = paraphrase_temperature === null ? "" : ` at temperature ${paraphrase_temperature}`;
    return `${is_original ? "original wording" : kind ? `variant ${variant_index}` : `wording ${variant_index}`}${temperature}${kind ? ` (${kind})` : ""}`;
  }

  function drawnCell(row, column) {
    const cell = make("td");
    cell.setAttribute("role", "gridcell");
    cell.tabIndex = -1;
    cell.dataset.place = `${row.place} ${column}`;
    const who = `${sampleOf(row).name}, ${columnName(column)}`;
    if (!row.cells.has(column)) {
      cell.className = "unasked";
      cell.setAttribute("aria-label", `${who}: not asked`);
    } else if (!row.cells.get(column).some((at) => matches(row, at))) {
      cell.className = "unmatched";
      cell.setAttribute("aria-label", `${who}: another answer`);
    } else {
      const { look, n, is_mixed } = cellOf(row, column);
      cell.className = `${look.paint}${is_mixed ? " mixed" : ""}`;
      cell.append(look.sign);
      cell.setAttribute("aria-label", `${who}: ${look.word}${is_mixed ? `, most of ${n} answers that differ` : ""}`);
    }
    return cell;
  }

  // how much the answers to a sample differ: its sensitivity, or the number of distinct answers where that is none
  function worthOf(row) {
    if (grid.measured) return grid.worth[row.place].toFixed(2);
    const said = new Set([...row.cells.values()].flat().map((at) => (grid.label[at] >= 0 ? grid.label[at] : `completion ${grid.completion[at]}`)));
    return counted(said.size);
  }

  function drawnRow(row) {
    const sample = sampleOf(row);
    const name = make("th", "", make("bdi", "grid-name", sample.name));
    name.scope = "row";
    name.title = sample.name;
    const gold = task().labels.indexOf(sample.gold);
    name.append(make("span", "sub", `${worthOf(row)}${gold < 0 ? "" : ` · gold ${task().signs[gold]}`}`));
    const drawn = make("tr", "", name);
    for (let column = 0; column < grid.n_columns; column += 1) drawn.append(drawnCell(row, column));
    return drawn;
  }

  function drawnHead() {
    const worth = grid.measured ? "sensitivity" : "distinct answers";
    const head = make("tr", "", make("th", "", "Sample", make("span", "sub", worth)));
    head.firstChild.scope = "col";
    for (let column = 0; column < grid.n_columns; column += 1) {
      const wording = wordingOf(column);
      const cell = make("th", "", String(grid.by_repetition ? column + 1 : wording.variant_index));
      cell.scope = "col";
      const is_breaking = !grid.by_repetition && grid.breaking.includes(column);
      if (!grid.by_repetition && wording.paraphrase_temperature !== null) cell.append(make("span", "sub", `t ${wording.paraphrase_temperature}`));
      if (is_breaking) cell.append(make("span", "sub", "⊘"));
      cell.title = `${columnName(column)}${is_breaking ? ", breaks its format" : ""}${wording.instruction ? `: ${wording.instruction}` : ""}`;
      head.append(cell);
    }
    return make("thead", "", head);
  }

  const shownRows = () => grid.laid.filter((row) => [...row.cells.values()].some((cell) => cell.some((at) => matches(row, at))));

  function draw() {
    const rows = shownRows();
    const table = make("table", "grid-table", drawnHead(), make("tbody", "", ...rows.slice(0, n_drawn).map(drawnRow)));
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", `Answers of ${grid.model} to ${task().name}, ${grid.strategy}`);
    const first = table.querySelector("td");
    if (first) first.tabIndex = 0;
    section.querySelector(".grid-box").replaceChildren(table);
    const n_matching = rows.reduce((sum, row) => sum + [...row.cells.values()].flat().filter((at) => matches(row, at)).length, 0);
    const some = rows.length === grid.laid.length ? "" : `${counted(rows.length)} of `;
    const left = grid.of > grid.laid.length ? ` of the ${counted(grid.of)} measured, those that differ most` : "";
    section.querySelector(".grid-count").textContent = `${some}${counted(grid.laid.length)} samples${left}; ${counted(n_matching)} of ${counted(grid.label.length)} answers.`;
    const more = section.querySelector(".grid-more");
    more.hidden = rows.length <= n_drawn;
    more.textContent = `${counted(Math.min(PAGE, rows.length - n_drawn))} more samples`;
    section.querySelector(".grid-legend").replaceChildren(...legend());
  }

  function legend() {
    const looks = new Map();
    for (const row of grid.laid) {
      for (const at of [...row.cells.values()].flat()) {
        const look = lookOf(row, at);
        looks.set(look.key, { ...look, n: (looks.get(look.key)?.n ?? 0) + 1 });
      }
    }
    const ordered = [...looks.values()].sort((a, b) => (a.paint === "na") - (b.paint === "na") || b.n - a.n);
    const mixed = grid.repetition.some((n) => n > 1) && !grid.by_repetition ? [make("span", "", make("i", "cell mixed", ""), "the commonest of repetitions that differ")] : [];
    return [...ordered.slice(0, 12).map((look) => make("span", "", make("i", `cell ${look.paint}`, look.sign), make("bdi", "", look.word), ` ${counted(look.n)}`)),
      ...(ordered.length > 12 ? [make("span", "", `and ${ordered.length - 12} more`)] : []), ...mixed];
  }

  function select(name, words, options, value, change) {
    const field = make("select", "", ...options.map(([key, text]) => {
      const option = make("option", "", text);
      option.value = key;
      return option;
    }));
    field.name = name;
    field.value = value;
    field.addEventListener("change", () => change(field.value));
    return make("label", "", make("span", "", words), field);
  }

  const distinct = (things) => [...new Set(things)];

  // the group that has what was chosen and as much of the rest as there is
  function choose(name, value) {
    const likeness = (group) => ["model", "task", "strategy"].filter((each) => group[each] === grid[each]).length;
    const fitting = all.groups.filter((group) => String(group[name]) === value);
    open(fitting.reduce((best, group) => (likeness(group) > likeness(best) ? group : best)));
  }

  function colours() {
    const has_completions = grid.completion.some((said) => said >= 0);
    return [["label", "label", grid.label.some((label) => label >= 0)], ["ruling", "right or wrong", grid.ruling.some((ruling) => ruling >= 0)], ["completion", "distinct completion", has_completions]]
      .filter(([, , has]) => has).map(([key, text]) => [key, text]);
  }

  function controls() {
    const of = (name, words, options) => select(name, words, options, String(grid[name]), (value) => choose(name, value));
    const names = (name) => distinct(all.groups.map((group) => group[name])).map((each) => [String(each), name === "task" ? all.tasks[each].name : each]);
    const filter = (name, words, options) => {
      if (!options.some(([key]) => key === chosen[name])) chosen[name] = "";
      return options.length < 2 ? [] : [select(name, words, [["", "any"], ...options], chosen[name], (value) => { chosen[name] = value; n_drawn = PAGE; draw(); })];
    };
    const labels = distinct(grid.label).sort((a, b) => a - b).map((label) => [String(label), label < 0 ? "N/A" : task().labels[label]]);
    const golds = distinct(grid.laid.map((row) => sampleOf(row).gold ?? "")).filter((gold) => gold !== "").sort().map((gold) => [gold, gold]);
    const rulings = distinct(grid.ruling.map((ruling) => all.rulings[ruling] ?? "not scored")).map((ruling) => [ruling, ruling]);
    const statuses = distinct(grid.status).map((status) => [all.statuses[status], all.statuses[status]]);
    return [
      of("model", "Model", names("model")), of("task", "Task", names("task")), of("strategy", "Strategy", names("strategy")),
      select("colour", "Colour", colours(), colour, (value) => { colour = value; draw(); }),
      ...filter("label", "Label", labels), ...filter("gold", "Gold label", golds), ...filter("ruling", "Right or wrong", rulings),
      ...filter("status", "Answer status", statuses),
    ];
  }

  function open(group) {
    grid = laidOut(group);
    n_drawn = PAGE;
    const known = colours().map(([key]) => key);
    if (!known.includes(colour)) colour = known[0] ?? "label";
    section.querySelector(".grid-controls").replaceChildren(...controls());
    draw();
  }

  // --- one cell, opened

  const put = (text, values) => text.replace(/\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole));

  // what of the sample was shown otherwise than in the data; nothing where it is not known
  function shownIn(row, column) {
    const at = own_at.get(`${grid.wordings[grid.by_repetition ? 0 : column]} ${grid.rows[row.place]}`);
    return at === undefined ? null : { text: own.texts[own.text[at]], order: own.orders[own.order[at]], labels: own.blocks[own.labels[at]] };
  }

  function promptOf(wording, sample, shown) {
    const values = { ...sample.values };
    if (shown?.text !== undefined) values.input = values.question = shown.text;
    if (shown?.labels !== undefined) values.labels = shown.labels;
    const { template } = wording;
    if (template) {
      for (const name of template.columns) values[name] ??= "";
      const given = sample.options ?? [];
      const options = shown?.order?.map((place) => given[place]) ?? given;
      const lines = options.slice(0, template.signs.length).map((option, place) => put(template.option, { enumerator: template.signs[place], option }));
      values.options = lines.join(template.between);
    }
    return wording.messages.map(([role, content]) => [role, put(content, values)]);
  }

  const block = (text) => {
    const drawn = make("pre", "", text);
    drawn.dir = "auto";
    return drawn;
  };

  function promptParts(wording, sample, shown) {
    if (!task().has_texts) return [make("p", "absent", "Its texts are left out of this report.")];
    const why_not = own && !own.is_whole ? "for which this page has no room; promptaudit trace has the prompt as sent" : "which is not known here: it was not recorded, its texts were erased, or another version of promptaudit put the prompt together";
    const changed = wording.is_changed_by_sample && !shown ? [make("p", "absent", `This variant (${wording.kind}) shows each sample in its own way, ${why_not}.`)] : [];
    if (wording.messages.length) return [...changed, ...promptOf(wording, sample, shown).flatMap(([role, content]) => [make("p", "sub", role), block(content)])];
    const known = [["instruction", wording.instruction], ["input", sample.values?.input]].filter(([, text]) => text);
    const why = known.length ? `The prompt is not recorded; ${known.map(([name]) => `its ${name}`).join(" and ")} ${known.length > 1 ? "are" : "is"}:` : "The prompt is not recorded.";
    return [make("p", "absent", why), ...known.flatMap(([name, text]) => [make("p", "sub", name), block(text)])];
  }

  const tokens = (n) => (n === null ? "not recorded" : counted(n));

  function answerParts(at) {
    const label = grid.label[at] < 0 ? "N/A" : task().labels[grid.label[at]];
    const ruling = all.rulings[grid.ruling[at]];
    const cost = grid.costs[grid.cost[at]];
    const why = grid.unread[at] < 0 ? "" : `: ${all.reasons[grid.unread[at]]}`;
    const facts = [
      ["label", label], ["right or wrong", ruling ?? "not scored"], ["answer status", all.statuses[grid.status[at]] + why],
      ["tokens", `${tokens(grid.prompt_tokens[at])} in, ${tokens(grid.completion_tokens[at])} out`],
      ["cost", cost === undefined ? "not recorded" : `$${Number(cost.toPrecision(4))}`],
    ];
    const said = grid.completion[at] >= 0 ? all.completions[grid.completion[at]] : "";
    const trace = make("code", "grid-trace", `promptaudit trace fct_predictions.${grid.trace.slice(12 * at, 12 * at + 12)}`);
    return make("article", "grid-answer",
      make("h4", "", `Repetition ${grid.repetition[at]}`),
      ...(!task().has_texts ? [] : said ? [block(said)] : [make("p", "absent", "Nothing was said.")]),
      make("dl", "", ...facts.map(([term, fact]) => make("div", "", make("dt", "", term), make("dd", "", make("bdi", "", fact))))),
      make("p", "sub", trace));
  }

  function show(row, column) {
    const sample = sampleOf(row);
    const step = (text, words, to) => {
      const button = make("button", "", text);
      button.type = "button";
      button.setAttribute("aria-label", words);
      button.disabled = !to;
      button.addEventListener("click", () => { show(...to); dialog.querySelector(`[aria-label="${words}"]:not([disabled])`)?.focus(); });
      return button;
    };
    const close = make("button", "grid-close", "Close");
    close.type = "button";
    close.addEventListener("click", () => dialog.close());
    const columns = [...row.cells.keys()].sort((a, b) => a - b);
    const beside = (by) => { const next = columns[columns.indexOf(column) + by]; return next === undefined ? null : [row, next]; };
    const rows = shownRows().filter((each) => each.cells.has(column));
    const below = (by) => { const next = rows[rows.findIndex((each) => each.place === row.place) + by]; return next ? [next, column] : null; };
    const title = make("h3", "", make("bdi", "", sample.name), ` · ${columnName(column)}`);
    title.id = "answer-title";
    const gold = sample.gold ?? (sample.references?.length ? sample.references.join(" | ") : "not known");
    dialog.replaceChildren(
      make("div", "grid-steps", step("‹", "previous column", beside(-1)), step("›", "next column", beside(1)), step("↑", "sample above", below(-1)), step("↓", "sample below", below(1)), close),
      title,
      make("p", "sub", `${grid.model} · ${task().name} · ${grid.strategy} · gold: `, make("bdi", "", gold), ` · ${grid.measured ? "sensitivity" : "distinct answers"} ${worthOf(row)}`),
      make("h4", "", "Prompt as sent"), ...promptParts(wordingOf(column), sample, shownIn(row, column)),
      ...row.cells.get(column).map(answerParts));
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }

  function opened(cell) {
    const [place, column] = cell.dataset.place.split(" ").map(Number);
    if (grid.laid[place].cells.has(column)) show(grid.laid[place], column);
  }

  function move(event, cell) {
    const row = cell.parentElement;
    const cells = [...row.querySelectorAll("td")];
    const at = cells.indexOf(cell);
    const to = {
      ArrowLeft: () => cells[at - 1], ArrowRight: () => cells[at + 1], Home: () => cells[0], End: () => cells.at(-1),
      ArrowUp: () => row.previousElementSibling?.querySelectorAll("td")[at], ArrowDown: () => row.nextElementSibling?.querySelectorAll("td")[at],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = to();
    if (!next) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  async function start() {
    await unpack();
    const more = make("button", "grid-more", "");
    more.type = "button";
    more.addEventListener("click", () => { n_drawn += PAGE; draw(); });
    const count = make("p", "note grid-count");
    count.setAttribute("role", "status");
    const box = make("div", "grid-box");
    box.addEventListener("click", (event) => { const cell = event.target.closest("td"); if (cell) opened(cell); });
    box.addEventListener("keydown", (event) => {
      const cell = event.target.closest("td");
      if (!cell) return;
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); opened(cell); } else move(event, cell);
    });
    host.replaceChildren(make("div", "grid-controls"), make("p", "legend grid-legend"), count, box, more);
    open(all.groups[0]);
    host.dataset.state = "drawn";
  }

  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    start().catch(() => { host.dataset.state = "still"; }); // what it says without a script stays
  }, { rootMargin: "200px" });
  seen.observe(host);
})();
