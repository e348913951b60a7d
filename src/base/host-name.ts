/** The host that a URL names, as a person would write it to allow it; `HOST` where the URL cannot be read. */
export const hostIn = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : "HOST");
