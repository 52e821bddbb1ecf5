/** units are those of an age, with how many seconds they have. */
const units = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** age writes how long ago a moment was, as kubectl does: 3d, 5h, 12m, 8s. */
export function age(from: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(from)) / 1000));
  for (const [unit, size] of units) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  }
  return '0s';
}

/** clock writes the time of a moment, with its day when it is not today. */
export function clock(at: string, language: string, now: Date): string {
  const moment = new Date(at);
  const today = moment.toDateString() === now.toDateString();
  return moment.toLocaleString(language, today ? { timeStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' });
}
