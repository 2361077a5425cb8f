# Writes a tokenizer in which each token of the servers and each word of a prompt is one token: no hub is needed.
#   tokenizer.py FOLDER         (in an environment that has `tokenizers`)
import json
import os
import sys

from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one "
         "you were her all she there would their we him been has when who will more no if out so said what up its about into "
         "than them can only other new some could time these two may then do first any my now such like our over man me even "
         "most made after also did many before must through back years where much your way well down should because each just")

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
words = ["<unk>", "<eos>", *WORDS.split(), "user:", "assistant:", "hello", *(f"tok{i:06d}" for i in range(4096))]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.add_special_tokens(["<unk>", "<eos>"])
tokenizer.save(f"{folder}/tokenizer.json")
with open(f"{folder}/tokenizer_config.json", "w") as file:
    json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 131072, "eos_token": "<eos>", "bos_token": "<eos>",
               "pad_token": "<eos>", "unk_token": "<unk>",
               "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
                                "{% if add_generation_prompt %}assistant: {% endif %}"}, file)
with open(f"{folder}/config.json", "w") as file:
    json.dump({"model_type": "gpt2", "vocab_size": len(words), "n_positions": 131072, "bos_token_id": 1, "eos_token_id": 1}, file)
assert len(tokenizer.encode("".join(f" tok{i:06d}" for i in range(2000))).ids) == 2000
