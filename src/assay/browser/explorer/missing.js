// What is not in this file, and how to get it: one paragraph, one command.

import { h, prose } from "../common/dom.js";

const COMMAND = "`assay report ";
const HOW_TO_GET = {
  rankings: "The rankings are not in this file: `assay report FOLDER` makes it again with them.",
  sources: "No source is in this file: `assay report FOLDER` puts it in, where the code is still what the run saw.",
  traces: "No trace is in this file: `assay report FOLDER --traces 40` asks the builtin engine again, if there is one.",
};

/** Say that a block is not in the page, as the run says it; where the run names no command, with ours. */
export function missingBlock(data, name, lead = "") {
  if (data.live && name === "traces") return h("p.note", askingAgain(data.live));
  const said = data.summary.left_out.filter((one) => one.block === name).map((one) => one.text);
  const known = data.live || said.some((text) => text.includes(COMMAND));
  const words = [lead, ...said, known ? "" : HOW_TO_GET[name]].filter(Boolean).join(" ");
  const where = words.includes(`${COMMAND}FOLDER`) ? " FOLDER is that of the run." : "";
  return h("p.note", prose(words + where));
}

/** Say where a server shows what an engine did. */
function askingAgain({ engines }) {
  return engines.length ? "“Ask again”, below, shows it." : "No engine of this run can say what it did.";
}
