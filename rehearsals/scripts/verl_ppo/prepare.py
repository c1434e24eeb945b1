"""Make a small Qwen2 and a parquet of sums in this folder; nothing is downloaded."""

import pathlib

import pandas
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

questions = [f"what is {i} plus {i % 7}?" for i in range(64)]

tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=512,
    special_tokens=["<unk>", "<pad>", "<eos>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
)
tokenizer.train_from_iterator(questions, trainer)
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    unk_token="<unk>",
    pad_token="<pad>",
    eos_token="<eos>",
    chat_template="{% for m in messages %}{{ m['content'] }}{% endfor %}",
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

rows = [
    {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": question}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": str(i + i % 7)},
        "extra_info": {"index": i},
    }
    for i, question in enumerate(questions)
]
pathlib.Path("data").mkdir(exist_ok=True)
pandas.DataFrame(rows).to_parquet("data/train.parquet")
pandas.DataFrame(rows[:4]).to_parquet("data/val.parquet")
