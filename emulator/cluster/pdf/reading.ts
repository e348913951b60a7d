/** Request to the process that reads PDFs: whether a file is valid, or also its text. */
export interface PdfTask {
  readonly goal: "check" | "text";
  readonly file: Uint8Array;
}

/** The text of a PDF, line by line (empty if it was not requested), or why it cannot be read. */
export type PdfReadResult =
  | { readonly lines: readonly string[]; readonly problem?: undefined }
  | { readonly problem: string; readonly lines?: undefined };

/** Message of the process: that it is ready, or the result of a file. `broken`: it must not read another one. */
export type WorkerMessage = { readonly up: true } | { readonly reading: PdfReadResult; readonly broken: boolean };
