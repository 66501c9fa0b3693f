import type { Model } from '../../../schemas/openai/models.ts'

/**
 * The list that Codex reads from `GET /models?client_version=`: one that names every field its parser needs.
 * Source: Codex 0.171.0, `codex debug models`; codex-rs/protocol/src/openai_models.rs, `ModelInfo`.
 */
export interface CodexModelList { models: CodexModel[] }

interface CodexModel {
  slug: string
  display_name: string
  description: string | null
  default_reasoning_level?: string
  supported_reasoning_levels: { effort: string, description: string }[]
  context_window?: number
  input_modalities: string[]
  /** The first choice has the lowest. */
  priority: number
  base_instructions: string
  [other: string]: unknown
}

/** The chat models that can call tools and have a price, policies first. */
export function toCodexModels (models: readonly Model[]): CodexModelList {
  return { models: models.filter(isUsable).map(toCodexModel) }
}

function isUsable ({ kind, owned_by: owner, capabilities, pricing }: Model): boolean {
  const isSold = owner === 'tollgate' || pricing?.prompt !== '-1'
  return kind === 'chat' && isSold && capabilities?.tools !== false
}

function toCodexModel (model: Model, priority: number): CodexModel {
  const { id, description = null, context_window: window, modalities, capabilities } = model
  const reasons = capabilities?.reasoning === true
  return {
    slug: id,
    display_name: id,
    description,
    ...(reasons && { default_reasoning_level: 'medium' }),
    supported_reasoning_levels: reasons ? efforts : [],
    ...(window !== undefined && { context_window: window }),
    input_modalities: modalities?.input.filter(one => one === 'text' || one === 'image') ?? ['text'],
    priority,
    ...common
  }
}

const efforts = [
  { effort: 'low', description: 'Fast responses' },
  { effort: 'medium', description: 'For everyday tasks' },
  { effort: 'high', description: 'For hard problems' }
]

/** Codex has instructions for OpenAI's models alone. */
const instructions = `You are Codex, a coding agent that works in a user's terminal through tools.

- Read before you write: find the files that matter with a fast search such as \`rg\`, and follow the style and the
  conventions that they have. AGENTS.md files give rules for their folder; the user's words come before them.
- Work until the request is done. Do what was requested and no more; do not revert changes that you did not make.
- Change files with \`apply_patch\`, run by the shell tool: \`apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: path\\n@@
-old line\\n+new line\\n*** End Patch\\nEOF\`. Keep patches small, and fix causes rather than symptoms.
- Run the tests or the program if you can, and say so if you could not. Never invent the output of a command.
- Keep a plan for work of several steps, and tell the user in a sentence what you do next.
- End with a short summary: what changed and why, with file paths, and what remains.`

const common = {
  base_instructions: instructions,
  shell_type: 'shell_command',
  visibility: 'list',
  supported_in_api: true,
  upgrade: null,
  supports_reasoning_summaries: false,
  support_verbosity: false,
  default_verbosity: null,
  apply_patch_tool_type: null,
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  supports_parallel_tool_calls: true,
  experimental_supported_tools: []
}
