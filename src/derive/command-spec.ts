import type { CallableOperation, Column, ResponseBody } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";

export interface PositionalSpec {
  readonly name: string;
  readonly description: string;
  readonly optional?: boolean;
  /** Accepts all remaining arguments. Only the last positional can be variadic. */
  readonly variadic?: boolean;
  readonly type?: ValueType;
  readonly choices?: readonly string[];
  /** Candidates for completion. The command itself checks the argument, ignoring case. */
  readonly suggestions?: readonly string[];
}

/** Type of a flag's value. */
export type ValueType = "text" | "integer" | "number" | "boolean";

/** Declaration of one flag. A `boolean` is a pair, `--urgent` and `--no-urgent`. A `switch` has no opposite. */
export interface FlagSpec {
  /** Name without dashes, in kebab case. */
  readonly flag: string;
  readonly short?: string;
  readonly type: ValueType | "switch";
  readonly description: string;
  /** Heading in help, for a command with many flags. */
  readonly section?: string | undefined;
  readonly placeholder?: string;
  /** Whether the value is optional, as in `--strict` and `--strict=keys`. */
  readonly optionalValue?: boolean;
  readonly repeatable?: boolean;
  /** Whether the value is a secret. Other users of the machine can read command lines. */
  readonly isSecret?: boolean;
  /** Name of the flag whose value the file contains. */
  readonly holds?: string;
  /** Whether the text is base64. `@FILE` stands for the contents of a file. */
  readonly isBase64?: boolean;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  /** Candidates for completion. The command itself checks the value, ignoring case, and accepts several words. */
  readonly suggestions?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  readonly default?: string | number | boolean;
  /** Whether an operator can follow the name: `--filter-created-at[$gt]`. */
  readonly takesOperator?: boolean;
  /** Position of the value in the request of a derived command. */
  readonly target?: { readonly in: "query" | "headers" | "body"; readonly name: string };
}

/** Creates a flag with a text value. `more` contains the properties that only some flags have. */
export const createTextFlag = <const Flag extends string, const More extends Partial<FlagSpec>>(
  flag: Flag,
  placeholder: string,
  description: string,
  more: More = {} as More,
) => ({ flag, type: "text", placeholder, description, ...more }) as const;

export const createIntegerFlag = <const Flag extends string, const More extends Partial<FlagSpec>>(
  flag: Flag,
  description: string,
  more: More = {} as More,
) => ({ flag, type: "integer", description, ...more }) as const;

export const createSwitch = <const Flag extends string, const More extends Partial<FlagSpec>>(
  flag: Flag,
  description: string,
  more: More = {} as More,
) => ({ flag, type: "switch", description, ...more }) as const;

export interface Paging {
  /**
   * Query field for the start of a page: a page number from 1, or a number of rows to skip. Without the field, only the
   * first page is available.
   */
  readonly by?: "page" | "offset";
  readonly maxPerPage: number;
  /** Field of the response with the rows. */
  readonly rows: string;
  /** Field of the response with the total number of rows. */
  readonly total: string;
}

export interface CommandExample {
  readonly title: string;
  readonly argv: readonly string[];
  /** Standard input, if the words contain `-`. */
  readonly stdin?: string;
}

/** Derived or hand-written command, for help, completion and the parser. */
export interface CommandDeclaration {
  /** Words of the command, with the group first: `["contracts", "status"]`. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly positionals: readonly PositionalSpec[];
  readonly flags: readonly FlagSpec[];
  readonly examples: readonly CommandExample[];
  /** Set if most flags belong to another command, to which the help refers. */
  readonly alsoTakes?: {
    readonly command: string;
    readonly except: readonly string[];
    readonly shown: readonly string[];
  };
  /**
   * Positionals and flags that provide the body in another way, such as a file of rows. Fields of the body are not
   * required with these.
   */
  readonly bodyFrom?: readonly string[];
}

/**
 * Command of one operation, as plain data, with the operation. It has no schemas, which take longer to load than
 * everything else before a request.
 */
export interface CommandSpec extends CommandDeclaration, CallableOperation {
  /** Module that declares the operation. The command loads no other module of the registry. */
  readonly resource: ResourceName;
  /** Kind of the success response with the most to show. */
  readonly output: ResponseBody["kind"];
  /**
   * Flags and positionals with rules beyond type and choices, which the schema must check. `all` means that there are
   * rules for the whole request.
   */
  readonly schemaChecked: readonly string[] | "all";
  /** Names of the response's fields, or of a row's fields for a list. Empty if the fields are not declared. */
  readonly fields: readonly string[];
  readonly columns?: readonly Column[];
  readonly rows?: string;
  /** Set if the response is a page of a list. */
  readonly paging?: Paging;
  readonly confirm?: "yes" | "name";
  /** Command that lists the valid values of an unknown argument, if the path does not imply it. */
  readonly unknownIsIn?: string;
  /** Set if a missing object is rejected with 403, like a forbidden action. */
  readonly hidesMissing?: true;
}
