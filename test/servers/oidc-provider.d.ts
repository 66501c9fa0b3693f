declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  interface Context { path: string, body: { id_token?: string } }

  /** What the tests use of it; the package has no types. */
  export default class Provider {
    constructor (issuer: string, configuration: object)
    callback (): RequestListener
    use (middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void
  }
}
