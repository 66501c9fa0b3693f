export type MediaPlace = { folder: string } | S3Place

export interface S3Place {
  bucket: string
  /** Before every key, with a slash at its end; may be empty. */
  prefix: string
  /** Of a store that is not AWS; null for AWS itself. */
  endpoint: string | null
  /** Null: as the AWS environment says. */
  region: string | null
}
