# Starts SGLang's Python client, sglang.benchmark.serving, without what wants torch: stands in for the few names that it
# imports from sglang.srt.
import os
import sys
import sysconfig
import types

root = os.path.join(sysconfig.get_paths()["purelib"], "sglang")


def package(name, path=None, **names):
    module = types.ModuleType(name)
    module.__path__ = [path] if path else []
    vars(module).update(names)
    sys.modules[name] = module


package("sglang", root)
package("sglang.benchmark", os.path.join(root, "benchmark"))
package("sglang.srt")
package("sglang.srt.disaggregation")
package("sglang.srt.disaggregation.utils", FAKE_BOOTSTRAP_HOST="2.2.2.2")
package("sglang.srt.utils")
package("sglang.srt.utils.network", resolve_base_url=lambda args, *_, **__: args if isinstance(args, str) else args.base_url,
        resolve_host_port=lambda *args, **_: (args[0], args[1]))

from sglang.benchmark.serving import cli_main  # noqa: E402

cli_main()
