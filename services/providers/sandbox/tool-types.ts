/** A tool of the request, whichever of the three ways it came in. */
export interface OfferedTool {
  form: PlannedCall['form']
  name: string
  description: string
  /** The arguments' JSON Schema. */
  parameters: Record<string, unknown>
  /** A regular expression that the text for a custom tool matches. */
  pattern: string | null
}

/** A tool the reply calls: `input` is the arguments as JSON, or the text for a custom tool. */
export interface PlannedCall { form: 'function' | 'custom' | 'legacy', name: string, input: string }
