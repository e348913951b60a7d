/** `application` and `json` of `Application/JSON; charset=utf-8`; undefined when it is no type at all. */
export function mediaType(header: string | undefined): { readonly type: string; readonly subtype: string } | undefined {
  const [type, subtype, ...rest] = (header ?? "").split(";", 1)[0]!.trim().toLowerCase().split("/");
  return type && subtype && rest.length === 0 ? { type, subtype } : undefined;
}

/** Whether FastAPI reads a body of this type as JSON: `application/json` and `application/*+json`. */
export function isJsonType(header: string | undefined): boolean {
  if (header === "application/json") return true;
  const media = mediaType(header);
  return media?.type === "application" && (media.subtype === "json" || media.subtype.endsWith("+json"));
}

export function isFormType(header: string | undefined): boolean {
  const media = mediaType(header);
  return media?.type === "application" && media.subtype === "x-www-form-urlencoded";
}

export function isMultipartType(header: string | undefined): boolean {
  const media = mediaType(header);
  return media?.type === "multipart" && media.subtype === "form-data";
}
