/*! tinydate 1.3.0 | MIT License */
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function formatDate(value) {
  const date = new Date(value);
  return `${date.getDate()} ${MONTHS[date.getMonth()]} ${date.getFullYear()}`;
}

export function parseDate(text) {
  const [day, month, year] = text.split(" ");
  return new Date(Number(year), MONTHS.indexOf(month), Number(day));
}
