declare module "salesforce-signed-request" {
  /** Returns the envelope, or an error (not thrown) if the request is rejected. */
  function decode(signedRequest: string, secret: string): object | Error;
  export = decode;
}
