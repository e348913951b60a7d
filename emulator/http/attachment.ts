import { create } from "content-disposition";

/** The header of a file that is to be kept under a name, for old readers and for new ones (RFC 6266, RFC 8187). */
export const attachmentHeader = (filename: string) => ({ "content-disposition": create(filename) });

/** The same of a file that is to be shown, and has a name when it is kept. */
export const inlineHeader = (filename: string) => ({ "content-disposition": create(filename, { type: "inline" }) });
