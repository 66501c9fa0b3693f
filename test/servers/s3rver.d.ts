declare module '@20minutes/s3rver' {
  /** An S3-compatible server that stores its objects in a folder and checks signatures. */
  export default class S3rver {
    constructor (options: {
      address: string
      port: number
      silent: boolean
      directory: string
      configureBuckets?: { name: string }[]
      allowMismatchedSignatures?: boolean
    })

    run (): Promise<{ address: string, port: number }>
    close (): Promise<void>
  }
}
