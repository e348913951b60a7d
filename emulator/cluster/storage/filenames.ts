import { lookupTable } from "../../../src/base/lookup-table.ts";
import { withoutTrailing } from "../../../src/base/trailing.ts";

/** Extensions by media type, for names that come without one (DECISIONS.md, F7). */
const extensions = lookupTable<string>({
  "application/pdf": "pdf",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.ms-powerpoint": "ppt",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/json": "json",
  "application/zip": "zip",
  "application/rtf": "rtf",
  "application/xml": "xml",
  "text/plain": "txt",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/svg+xml": "svg",
  "image/tiff": "tiff",
  "message/rfc822": "eml",
});

const longest = 255;

/**
 * The name under which a file is kept: the last part of a path, without control characters and those that file
 * systems refuse, at most 255 characters, with the extension of its content type when it has none.
 */
export function cleanFilename(name: string, contentType: string): string {
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
  const inferred = extensions[contentType.split(";")[0]!.trim().toLowerCase()];
  const extension = known ?? (inferred ? `.${inferred}` : "");
  const stem = known ? base.slice(0, -known.length) : base;
  return `${[...stem].slice(0, longest - extension.length).join("")}${extension}`;
}

/** Beginning and end of a name that is far too long: looking at all of it would only cost time. */
const endsOf = (name: string): string =>
  name.length <= 8 * longest ? name : name.slice(0, 4 * longest) + name.slice(-4 * longest);
