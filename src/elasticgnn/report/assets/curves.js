// The dialog of one cell: its numbers, runs, training curves, and the settings tried.

const CURVES = { test: "test accuracy", val: "validation accuracy", loss: "training loss" };

function openCell(study, entry) {
  const dialog = document.getElementById("cell");
  document.getElementById("cell-title").textContent = cellTitle(study, entry);
  document.getElementById("cell-body").replaceChildren(
    facts(study, entry), ...(entry.runs ? [curvePanel(entry), runTable(study, entry), candidateTable(entry)] : []));
  dialog.showModal();
  dialog.scrollTop = 0;
}

function cellTitle(study, entry) {
  const model = study.models.find((candidate) => candidate.name === entry.model).title;
  return `${study.name} · ${rowLabel(study, entry.dataset, entry.level)} · ${model}`;
}

function facts(study, entry) {
  const { digits } = study;
  const rows = [["ours", `${meanAndStd(entry.ours, digits)} over ${entry.runs ? entry.runs.length : 0} runs`]];
  if (entry.ours) rows.push(["95 % interval", `${shown(entry.ours[2], digits)} to ${shown(entry.ours[3], digits)}`]);
  rows.push(["paper", meanAndStd(entry.paper, digits)], ["verdict", entry.verdict]);
  if (entry.paired) rows.push([`minus ${study.baseline}, paired`, pairedText(entry.paired, digits)]);
  if (entry.runs) {
    rows.push(["selected setting", entry.setting], ["search", `${entry.search}, ${entry.tried} settings tried`]);
    const made = entry.environment;
    rows.push(["made with", `elasticgnn ${made.elasticgnn} (${made.revision}), torch ${made.torch}, Python ${made.python}`]);
  }
  for (const remark of entry.remarks) rows.push(["remark", remark]);
  return element("dl", {}, ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

function pairedText(paired, digits) {
  const sign = paired[0] >= 0 ? "+" : "";
  return `${sign}${shown(paired[0], digits)} (95 % interval ${shown(paired[2], digits)} to ${shown(paired[3], digits)})`;
}

/** Training curves on demand: one kind at a time, every run a line. */
function curvePanel(entry) {
  const place = element("div", {});
  const kinds = Object.keys(CURVES).filter((kind) => entry.runs.some((run) => run[kind] && run[kind].length));
  const buttons = kinds.map((kind) => element("button", { type: "button", "data-kind": kind, "aria-pressed": "false",
    onclick: () => show(kind) }, CURVES[kind]));
  const show = (kind) => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
    place.replaceChildren(lineChart({
      lines: entry.runs.map((run, index) => curveLine(run, kind, index)),
      xTitle: "epoch", yTitle: kind === "loss" ? "loss" : "accuracy, %", digits: kind === "loss" ? 3 : 1,
      caption: `${CURVES[kind]} of each run`,
    }));
  };
  return element("div", {}, element("h3", {}, "Training curves"), element("div", { class: "tabs" }, ...buttons), place);
}

function curveLine(run, kind, index) {
  const factor = kind === "loss" ? 1 : 100;
  const points = run[kind].map((value, step) => [step * run.stride, value * factor]);
  return { title: `run ${run.run}`, colour: COLOURS[index % COLOURS.length], points };
}

function runTable(study, entry) {
  const head = ["run", "seed", "split", study.metric, "selected epoch", "epochs", "seconds"];
  const rows = entry.runs.map((run) => [run.run, run.seed, run.split, shown(run.value, study.digits + 1),
    run.epoch, run.epochs, shown(run.seconds, 1)]);
  return element("div", {}, element("h3", {}, "Runs"), plainTable(head, rows));
}

function candidateTable(entry) {
  const rows = entry.candidates.map(([label, runs, val, test]) => [label, runs, shown(val, 1), shown(test, 1)]);
  return element("div", {}, element("h3", {}, "Settings tried, best on validation nodes first"),
    plainTable(["setting", "runs", "validation, %", "test, %"], rows));
}

function plainTable(head, rows) {
  const cells = (name, values) => values.map((value) => element(name, {}, String(value)));
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...cells("th", head))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row))))));
}
