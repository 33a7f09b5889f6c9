/** Codes that reject the content, where a provider names none: the usual ones (unverified). */
export const USUAL_CONTENT_CODES =
  /^(content_policy_violation|content_policy|content_rejected|content_moderated|content_filtered|moderation_blocked|moderated|safety|nsfw|prompt_blocked|sensitive_words_detected)$/;
