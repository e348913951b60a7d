/** `1 row`, `2 rows`, `3 retries`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
