const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** bytes writes an amount of memory with three digits. */
export function bytes(amount: number): string {
  let value = amount;
  let unit = 0;
  while (value >= 1024 && unit < binary.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${digits(value)} ${binary[unit] ?? ''}`;
}

/** digits writes a number with at most three digits. */
export function digits(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: value >= 100 ? 6 : 3, useGrouping: false });
}

/** share is what part of the whole an amount is, in percent. */
export function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, Math.round((100 * part) / whole)) : 0;
}
