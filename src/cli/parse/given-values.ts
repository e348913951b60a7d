/** Those of the named values that were given, under the same names: flags that are fields of a query too. */
export const pickGiven = <Values extends object, Name extends keyof Values & string>(
  values: Values,
  names: readonly Name[],
): { readonly [Given in Name]?: Values[Given] } =>
  Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))) as {
    [Given in Name]?: Values[Given];
  };
