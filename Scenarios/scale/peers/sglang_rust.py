# Starts the Rust client of SGLang's wheel without SGLang itself, which wants torch.
import glob
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig

library = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "sglang/srt/rust_extensions/_bench*.so"))[0]
spec = importlib.util.spec_from_loader("_bench", importlib.machinery.ExtensionFileLoader("_bench", library))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.run_argv(["sglang-bench"] + sys.argv[1:])
