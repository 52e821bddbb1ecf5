/** isGood reports whether a condition is as it should be: most are to be true, and those that name a trouble are not. */
export function isGood({ type, status }: { type: string; status: string }): boolean {
  const trouble = /(Pressure|Unavailable|Problem|Failed|Failing|Stalled|Stale)$/.test(type);
  return status === (trouble ? 'False' : 'True');
}
