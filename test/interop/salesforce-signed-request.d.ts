declare module "salesforce-signed-request" {
  /** The envelope, or (not thrown) the error that refuses it. */
  function decode(signedRequest: string, secret: string): object | Error;
  export = decode;
}
