import type { FlagSpec } from "../../derive/command-spec.ts";

/** The options with an operator that a line names, such as `--filter-created-at[$gt]`, of flags that take one. */
export function findOperatorFlags(flags: readonly FlagSpec[], argv: readonly string[]): FlagSpec[] {
  const named = new Set(argv.filter((token) => token.includes("[$")).map((token) => token.split("=", 1)[0]!));
  return [...named].flatMap((option) => {
    const [, name, operator] = /^--([\w-]+)(\[\$\w+\])$/.exec(option) ?? [];
    const plain = flags.find(({ flag, takesOperator }) => takesOperator && flag === name);
    return plain?.target === undefined
      ? []
      : [
          {
            ...plain,
            flag: `${name}${operator}`,
            target: { ...plain.target, name: `${plain.target.name}${operator}` },
          },
        ];
  });
}
