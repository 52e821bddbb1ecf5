/** constant writes a value of Kubernetes as GraphQL has it: NoSchedule is NO_SCHEDULE. */
export function constant(value: string): string {
  return value.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}
