import type { TrafficCorpus } from "./corpus.ts";
import { isRandomLooking, type PersonalKind } from "./fields.ts";
import { ExchangeSanitizer } from "./sanitize.ts";
import {
  isStandInDate,
  isStandInFile,
  isStandInNumber,
  isStandInToken,
  type SecretKind,
  StandIns,
  type TextKind,
} from "./stand-ins.ts";

/** A possible secret or possible personal data in a corpus. The value is not included. */
interface SensitiveFinding {
  /** Examples: `request body name`, `response header x-token`. */
  readonly place: string;
  readonly kind: string;
  readonly shown: string;
}

/**
 * Finds possible secrets and personal data in the files of a corpus: everything that a recorder would replace, except
 * hosts and words outside of names, which are common in manual edits.
 */
export function scanCorpus({ exchanges }: TrafficCorpus) {
  return exchanges.flatMap((exchange) => {
    const scan = new StandInScan();
    new ExchangeSanitizer(scan).sanitizeExchange(exchange);
    return scan.findings.map((finding) => ({ file: exchange.file, ...finding }));
  });
}

/** Reports the values that have no stand-ins. Values stay unchanged. */
class StandInScan extends StandIns {
  override readonly isScan = true;
  readonly findings: SensitiveFinding[] = [];

  #report<Value extends string | Buffer>(kind: string, value: Value): Value {
    const { place, findings } = this;
    const shown = `${value.toString().slice(0, 3)}… (${value.length} characters)`;
    if (!findings.some((item) => item.place === place && item.kind === kind)) findings.push({ place, kind, shown });
    return value;
  }

  override isOwn(text: string): boolean {
    return isStandInToken(text);
  }

  override createWord(word: string, kind?: TextKind): string {
    const isName = kind === "name" && /^\p{Lu}/u.test(word) && word !== word.toUpperCase();
    return isName ? this.#report("name", word) : word;
  }

  override createEmail(address: string): string {
    return removeStandIns(address) === address ? this.#report("e-mail address", address) : address;
  }

  override createHost(name: string): string {
    return name;
  }

  override createPhone(digits: string): string {
    return this.#report("phone number", digits);
  }

  override createNumber(text: string, kind?: PersonalKind | "secret"): string {
    if (kind === undefined || isStandInNumber(text, kind === "coordinate")) return text;
    return this.#report(kind === "secret" ? kind : kind === "phone" ? "phone number" : "personal data", text);
  }

  override createDate(text: string): string {
    return isStandInDate(text) ? text : this.#report("personal data", text);
  }

  override createToken(value: string, kind: SecretKind = "token"): string {
    const rest = removeStandIns(value);
    const isReplaced = kind === "token" ? !isRandomLooking(rest) : rest !== value;
    return isReplaced ? value : this.#report(kind, value);
  }

  override createFile(bytes: Buffer): Buffer {
    return isStandInFile(bytes) ? bytes : this.#report("file", bytes);
  }
}

/** Removes the stand-ins in a longer string, such as a path whose words were replaced one by one. */
const removeStandIns = (text: string): string =>
  text.replace(/(?:safe|5afe)[\w+/=.-]*/g, "").replace(/qx[a-x]{7}/gi, "");
