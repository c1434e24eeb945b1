"""Make a small Qwen2 and 256 questions in this folder; nothing is downloaded."""

import json
import pathlib

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

texts = [f"question {i}: what is {i} plus {i % 7}? answer: {i + i % 7}" for i in range(256)]

tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
special = ["<unk>", "<pad>", "<eos>"]
tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=512, special_tokens=special))
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>"
).save_pretrained("model")

config = Qwen2Config(
    vocab_size=512,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    eos_token_id=2,
    pad_token_id=1,
)
Qwen2ForCausalLM(config).save_pretrained("model")

pathlib.Path("data").mkdir(exist_ok=True)
lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
pathlib.Path("data/train.jsonl").write_text(lines)
