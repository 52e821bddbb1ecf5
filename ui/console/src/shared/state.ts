/** stateColor is the colour of each state of an instance. */
export const stateColor = { RUNNING: 'teal', IN_PROCESS: 'blue', TERMINATING: 'orange', UNAVAILABLE: 'red', UNKNOWN: 'gray' } as const;
