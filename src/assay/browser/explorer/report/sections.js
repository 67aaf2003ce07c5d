// The sections of the report, in the order they are shown: {id, title, render(data) -> Node | null}.

import { adversariesSection } from "./adversaries.js";
import { costSection } from "./cost.js";
import { differencesSection } from "./differences.js";
import { groupsSection } from "./groups.js";
import { inputsSection } from "./inputs.js";
import { limitsSection } from "./limits.js";
import { meansSection } from "./means.js";
import { phrasingsSection } from "./phrasings.js";
import { ranksSection } from "./ranks.js";
import { scoresSection } from "./scores.js";
import { tablesSection } from "./tables.js";
import { tradeoffsSection } from "./tradeoffs.js";
import { verdictSection } from "./verdict.js";
import { winsSection } from "./wins.js";

export const SECTIONS = [
  verdictSection,
  scoresSection,
  meansSection,
  differencesSection,
  winsSection,
  ranksSection,
  tradeoffsSection,
  groupsSection,
  phrasingsSection,
  adversariesSection,
  tablesSection,
  limitsSection,
  costSection,
  inputsSection,
];
