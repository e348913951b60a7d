import type { Auth, CallableOperation, Column, Method, ResponseBody } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";
import type { Service } from "../api/services.ts";

/** One positional argument. */
export interface PositionalSpec {
  readonly name: string;
  readonly description: string;
  readonly optional?: boolean;
  /** Takes all that follow; only the last may. */
  readonly variadic?: boolean;
  readonly type?: ValueType;
  readonly choices?: readonly string[];
  /** Candidates of completion if the command itself checks the word: in any case. */
  readonly offered?: readonly string[];
}

/** How the text of a flag becomes a value. `scalar`: an integer where it looks like one, else text. */
export type ValueType = "text" | "integer" | "number" | "boolean" | "scalar";

/** One flag. `boolean` ones come as a pair, `--urgent` and `--no-urgent`; a `switch` has no opposite. */
export interface FlagSpec {
  /** Without the dashes, in kebab case. */
  readonly flag: string;
  readonly short?: string;
  readonly type: ValueType | "switch";
  readonly description: string;
  /** The heading under which help shows it, where a command has many. */
  readonly section?: string | undefined;
  /** Placeholder of the value in help: `FILE`. */
  readonly placeholder?: string;
  /** The value may be omitted: `--strict` next to `--strict=keys`. */
  readonly optionalValue?: boolean;
  readonly repeatable?: boolean;
  /** Its value is a secret: another user of the machine can read a command line. */
  readonly isSecret?: boolean;
  /** Names a file that holds the value of that flag. */
  readonly holds?: string;
  /** The text is base64; `@FILE` means the content of a file. */
  readonly isBase64?: boolean;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  /** Candidates of completion if the command itself checks the word: in any case, or several. */
  readonly offered?: readonly string[];
  /** The least and the most that a number may be. */
  readonly least?: number;
  readonly most?: number;
  readonly default?: string | number | boolean;
  /** Its name may continue with how values are compared: `--filter-created-at[$gt]`. */
  readonly takesOperator?: boolean;
  /** Position of the value in the request of a derived command. */
  readonly target?: { readonly in: "query" | "headers" | "body"; readonly name: string };
}

/** How a list that answers in parts is read to its end. */
export interface Paging {
  /**
   * The query field that says where a part begins: a page from 1, or how many rows to skip. None: only the first part
   * can be had.
   */
  readonly by?: "page" | "offset";
  /** Maximum number of rows of one call. */
  readonly most: number;
  /** The field of the response that counts all rows. */
  readonly total: string;
}

export interface CommandExample {
  readonly title: string;
  /** Words after `svc`. */
  readonly argv: readonly string[];
  /** Standard input, if `-` is among the words. */
  readonly stdin?: string;
}

/** A command, derived or hand-written, for help, completion and the parser. */
export interface CommandDeclaration {
  /** `["contracts", "status"]`: the group comes first. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly positionals: readonly PositionalSpec[];
  readonly flags: readonly FlagSpec[];
  readonly examples: readonly CommandExample[];
  /** Set if most flags are those of another command, which its help refers to. */
  readonly alsoTakes?: {
    readonly command: string;
    /** Flags of the other one that it does not take. */
    readonly except: readonly string[];
    /** Flags that its help shows all the same. */
    readonly shown: readonly string[];
  };
  /** Positionals and flags that bring the body in another way, such as a file of rows: its fields are not asked for then. */
  readonly bodyFrom?: readonly string[];
}

/** The command of one operation, as plain data. */
export interface CommandSpec extends CommandDeclaration {
  readonly operation: string;
  /** The module that declares the operation: the only one that running the command loads. */
  readonly resource: ResourceName;
  readonly service: Service["name"];
  readonly method: Method | readonly Method[];
  readonly path: string;
  readonly auth: Auth;
  /** Kind of request body. */
  readonly body?: "json" | "form" | "jsonOrForm" | "raw" | "stream";
  /** The declared answers by status, without their schemas. */
  readonly answers: CallableOperation["responses"];
  readonly longestMs?: number;
  /** Kind of the success with the most to show. */
  readonly output: ResponseBody["kind"];
  /**
   * Flags and positionals that the declaration has rules for beyond their type and choices, which the parser checks.
   * `all` where there are rules for the whole: then, or when one of these is given, the declaration has to check.
   */
  readonly needsSchema: readonly string[] | "all";
  /** Names of the response's fields (of one row's, where the response is a list); empty when they are free. */
  readonly fields: readonly string[];
  readonly columns?: readonly Column[];
  readonly rows?: string;
  /** Set if the response is a part of a list. */
  readonly paged?: Paging;
  readonly confirm?: "yes" | "name";
  /** The command that lists what it may reject as unknown, where its path does not say what that is. */
  readonly unknownIsIn?: string;
  /** A missing object is rejected with 403, like a forbidden action. */
  readonly hidesMissing?: true;
  /** A hand-written command of the same words replaces it, and may build on it. */
  readonly byHand?: boolean;
}
