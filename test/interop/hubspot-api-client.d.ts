declare module "@hubspot/api-client" {
  interface Signed {
    readonly method: string;
    readonly url: string;
    readonly requestBody: string;
    readonly clientSecret: string;
    /** Unix milliseconds. */
    readonly timestamp: number;
    readonly signature: string;
    readonly signatureVersion?: string;
  }

  export const Signature: {
    getSignature(method: string, version: string, signed: Signed): string;
    /** @throws if a timestamp is too old. */
    isValid(signed: Signed): boolean;
  };
}
