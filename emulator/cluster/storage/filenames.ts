import { withoutTrailing } from "../../../src/base/trailing.ts";

/** The extension for names that come without one (DECISIONS.md, F7); loaded late, for few files are without. */
export async function extensionOf(contentType: string): Promise<string | undefined> {
  const { extension } = await import("./media-types.ts");
  // Bytes of whatever kind: `.bin` would say no more.
  return contentType === "application/octet-stream" ? undefined : extension(contentType) || undefined;
}

const longest = 255;

/**
 * The name under which a file is kept: the last part of a path, without control characters and those that file
 * systems refuse, at most 255 characters, with `usual` as its extension when it has none.
 */
export function cleanFilename(name: string, usual: string | undefined): string {
  const last = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const clean = endsOf(withoutTrailing(last, ". "))
    .normalize("NFC")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\u0000-\u001f\u007f-\u009f<>:"|?*\u202a-\u202e\u2066-\u2069]/g, "_")
    // Half a surrogate pair cannot be written in a URL.
    .replace(/\p{Surrogate}/gu, "_")
    .replace(/\s+/g, " ")
    .replace(/^[. ]+/, "");
  const base = withoutTrailing(clean, ". ") || "file";
  const known = /\.[A-Za-z0-9]{1,10}$/.exec(base)?.[0];
  const extension = known ?? (usual ? `.${usual}` : "");
  const stem = known ? base.slice(0, -known.length) : base;
  return `${[...stem].slice(0, longest - extension.length).join("")}${extension}`;
}

/** Beginning and end of a name that is far too long: looking at all of it would only cost time. */
const endsOf = (name: string): string =>
  name.length <= 8 * longest ? name : name.slice(0, 4 * longest) + name.slice(-4 * longest);
