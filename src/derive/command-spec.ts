import type { Auth, CallableOperation, Column, Method, ResponseBody } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";
import type { Service } from "../api/services.ts";

/** One positional argument. */
export interface PositionalSpec {
  readonly name: string;
  readonly description: string;
  readonly optional?: boolean;
  /** Takes all remaining arguments. Only the last positional may. */
  readonly variadic?: boolean;
  readonly type?: ValueType;
  readonly choices?: readonly string[];
  /** Candidates for completion. The command itself checks the word, in any case. */
  readonly offered?: readonly string[];
}

/** How the text of a flag is parsed. `scalar`: an integer if it looks like one, otherwise text. */
export type ValueType = "text" | "integer" | "number" | "boolean" | "scalar";

/** One flag. A `boolean` is a pair, `--urgent` and `--no-urgent`; a `switch` has no opposite. */
export interface FlagSpec {
  /** Without the dashes, in kebab case. */
  readonly flag: string;
  readonly short?: string;
  readonly type: ValueType | "switch";
  readonly description: string;
  /** Its heading in help, if a command has many flags. */
  readonly section?: string | undefined;
  /** Placeholder of the value in help: `FILE`. */
  readonly placeholder?: string;
  /** The value may be omitted: `--strict` and `--strict=keys`. */
  readonly optionalValue?: boolean;
  readonly repeatable?: boolean;
  /** Its value is a secret, and other users of the machine can read command lines. */
  readonly isSecret?: boolean;
  /** Names a file with the value of that flag. */
  readonly holds?: string;
  /** The text is base64; `@FILE` stands for the contents of a file. */
  readonly isBase64?: boolean;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  /** Candidates for completion. The command itself checks the words, in any case, or several. */
  readonly offered?: readonly string[];
  /** Minimum and maximum of a number. */
  readonly least?: number;
  readonly most?: number;
  readonly default?: string | number | boolean;
  /** Its name may continue with an operator: `--filter-created-at[$gt]`. */
  readonly takesOperator?: boolean;
  /** Where the value goes in the request of a derived command. */
  readonly target?: { readonly in: "query" | "headers" | "body"; readonly name: string };
}

/** How to read a paged list to its end. */
export interface Paging {
  /**
   * The query field for the start of a page: a page number from 1, or a number of rows to skip. Without it, only the
   * first page is available.
   */
  readonly by?: "page" | "offset";
  /** Maximum number of rows of one call. */
  readonly most: number;
  /** The field of the response with the total number of rows. */
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
  /** Set if most flags belong to another command, which its help refers to. */
  readonly alsoTakes?: {
    readonly command: string;
    /** Flags of the other command that it does not accept. */
    readonly except: readonly string[];
    /** Flags that its help still shows. */
    readonly shown: readonly string[];
  };
  /**
   * Positionals and flags that provide the body in another way, such as a file of rows, so that its fields are not
   * required.
   */
  readonly bodyFrom?: readonly string[];
}

/** The command of one operation, as plain data. */
export interface CommandSpec extends CommandDeclaration {
  readonly operation: string;
  /** The module that declares the operation, the only one that the command loads. */
  readonly resource: ResourceName;
  readonly service: Service["name"];
  readonly method: Method | readonly Method[];
  readonly path: string;
  readonly auth: Auth;
  /** Kind of request body. */
  readonly body?: "json" | "form" | "jsonOrForm" | "raw" | "stream";
  /** The declared responses by status, without their schemas. */
  readonly answers: CallableOperation["responses"];
  readonly maxDurationMs?: number;
  /** The success response with the most to show. */
  readonly output: ResponseBody["kind"];
  /**
   * Flags and positionals with rules beyond type and choices, which the schema must check. `all` if there are rules for
   * the whole request.
   */
  readonly needsSchema: readonly string[] | "all";
  /** Names of the response's fields (of a row's, if the response is a list); empty if they are not declared. */
  readonly fields: readonly string[];
  readonly columns?: readonly Column[];
  readonly rows?: string;
  /** Set if the response is a page of a list. */
  readonly paged?: Paging;
  readonly confirm?: "yes" | "name";
  /** The command that lists valid values of an unknown argument, if the path does not imply it. */
  readonly unknownIsIn?: string;
  /** A missing object is rejected with 403, like a forbidden action. */
  readonly hidesMissing?: true;
  /** A hand-written command with the same words replaces it, and may build on it. */
  readonly byHand?: boolean;
}
