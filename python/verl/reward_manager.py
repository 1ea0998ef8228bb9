"""verl's naive reward manager, which also gives reward.py the ids of the completion, which some rewards count, and the end of the prompt, which may open a tag."""

from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager


class GradusRewardManager(NaiveRewardManager):
    async def run_single(self, data):
        item = data[-1:][0]
        ids = item.batch["responses"]
        length = int(item.batch["attention_mask"][-ids.shape[-1] :].sum())
        item.non_tensor_batch["extra_info"]["completion_ids"] = ids[:length].tolist()
        if "prompts" in item.batch.keys():
            item.non_tensor_batch["extra_info"]["prompt_end"] = self.tokenizer.decode(item.batch["prompts"][-64:])
        return await super().run_single(data)
