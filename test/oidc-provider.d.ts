declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  /** What the tests use of it; the package has no types. */
  export default class Provider {
    constructor (issuer: string, configuration: object)
    callback (): RequestListener
  }
}
