import { Type } from '@sinclair/typebox'

/** Answer of `GET /` to a program; a browser gets a page. */
export const Front = Type.Object({
  name: Type.Literal('Tollgate'),
  version: Type.String(),
  base_url: Type.String({ description: 'What clients of OpenAI\'s API have as their base URL.' }),
  documentation: Type.String(),
  openapi: Type.String()
})
