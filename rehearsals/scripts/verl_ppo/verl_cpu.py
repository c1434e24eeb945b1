"""A plug-in for verl: a platform `cpu`, and a rollout engine that generates with transformers.

verl loads it because VERL_USE_EXTERNAL_MODULES names it; VERL_PLATFORM=cpu and the configuration
`actor_rollout_ref.rollout.name=transformers` choose what it registers. verl's own files stay as
they are: trainer, workers, FSDP engine, losses, agent loop and TransferQueue are verl's.
"""

import asyncio
import contextlib
import types

import ray
import torch
import verl.utils.distributed
import verl.utils.model
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry
from verl.workers.rollout import base, replica


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    """A machine without accelerators; what Ray hands out as GPUs are places for processes."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = types.SimpleNamespace(
        **{name: getattr(torch.cpu, name) for name in dir(torch.cpu) if not name.startswith("_")},
        empty_cache=lambda: None,
        max_memory_allocated=lambda: 0,
        max_memory_reserved=lambda: 0,
        memory_allocated=lambda: 0,
        memory_reserved=lambda: 0,
        mem_get_info=lambda: (0, 0),
        manual_seed=torch.manual_seed,
        manual_seed_all=torch.manual_seed,
        get_rng_state=torch.get_rng_state,
        set_rng_state=torch.set_rng_state,
        get_device_name=lambda: "cpu",
    )

    def is_available(self):
        return True

    def current_device(self):
        return torch.device("cpu")

    def device_count(self):
        return 1

    def set_device(self, device_index):
        pass

    def synchronize(self, device_index=None):
        pass

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    def manual_seed_all(self, seed):
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings):
        pass

    def empty_cache(self):
        pass

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    def nvtx_range(self, msg):
        return contextlib.nullcontext()

    def profiler_start(self):
        pass

    def profiler_stop(self):
        pass

    def ray_resource_name(self):
        return "GPU"

    def ray_noset_envvars(self):
        return []

    def is_ipc_supported(self):
        return False

    def cudart(self):
        return None


class TransformersServer:
    """One rollout server: generates token by token with transformers, one request at a time."""

    def __init__(self, config, model_config):
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        self._config = config
        self._model = AutoModelForCausalLM.from_pretrained(model_config.path)
        self._turn = asyncio.Lock()
        self._step = None

    async def generate(self, prompt_ids, sampling_params, request_id, **ignored):
        """Answer one prompt."""
        async with self._turn:
            ids, log_probs = await asyncio.to_thread(self._sample, list(prompt_ids))
        return replica.TokenOutput(
            token_ids=ids,
            log_probs=log_probs,
            stop_reason="completed",
            extra_fields={"global_steps": self._step},
        )

    @torch.no_grad()
    def _sample(self, prompt):
        output = self._model.generate(
            torch.tensor([prompt]),
            max_new_tokens=self._config.response_length,
            do_sample=True,
            output_scores=True,
            return_dict_in_generate=True,
        )
        ids = output.sequences[0, len(prompt) :].tolist()
        scores = zip(output.scores, ids, strict=False)
        return ids, [score[0].log_softmax(-1)[token].item() for score, token in scores]

    async def load_weights(self, weights, step):
        """Take the weights of the trainer."""
        async with self._turn:
            self._model.load_state_dict(weights, strict=False)
            self._step = step

    async def nothing(self, **ignored):
        """Sleeping, waking, aborting: there is no memory to give back, and no request runs."""

    wake_up = sleep = abort_all_requests = resume_generation = clear_kv_cache = nothing
    release_kv_cache = resume_kv_cache = start_profile = stop_profile = nothing


class TransformersReplica(replica.RolloutReplica):
    """The server of one rank of the trainer."""

    async def launch_servers(self):
        """Start the server as a Ray actor."""
        self._server_handle = (
            ray.remote(TransformersServer)
            .options(name=f"transformers_server_{self.replica_rank}", num_cpus=0)
            .remote(self.config, self.model_config)
        )
        self._server_address = f"transformers_server_{self.replica_rank}"
        self.servers = [self._server_handle]


class TransformersAdapter(base.BaseRollout):
    """What a rank of the trainer knows of its server."""

    def __init__(self, config, model_config, device_mesh, replica_rank=-1):
        super().__init__(config, model_config, device_mesh)
        self._name = f"transformers_server_{torch.distributed.get_rank()}"

    async def resume(self, tags):
        """Nothing was released."""

    async def release(self):
        """There is nothing to release."""

    async def update_weights(self, weights, wire_format="named_tensors", **kwargs):
        """Send the whole weights to the server; gathering each of them is a collective."""
        whole = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights}
        server = ray.get_actor(self._name)
        await server.load_weights.remote(whole, kwargs.get("global_steps"))


def _initialise_with_gloo_alone(real):
    """Keep verl from asking for two backends of one device, `cpu:gloo,cpu:gloo`."""

    def initialize_global_process_group_ray(timeout_second=None, backend=None):
        real(timeout_second, backend or "cpu:gloo")

    return initialize_global_process_group_ray


def _load_value_model(local_path, torch_dtype, model_config, trust_remote_code):
    """The critic's model; verl asks for FlashAttention 2 whatever the configuration says."""
    from transformers import AutoModelForTokenClassification

    return AutoModelForTokenClassification.from_pretrained(
        local_path,
        dtype=torch_dtype,
        config=model_config,
        attn_implementation="eager",
        trust_remote_code=trust_remote_code,
    )


verl.utils.model.load_valuehead_model = _load_value_model
verl.utils.distributed.initialize_global_process_group_ray = _initialise_with_gloo_alone(
    verl.utils.distributed.initialize_global_process_group_ray
)
base._ROLLOUT_REGISTRY["transformers", "async"] = "verl_cpu.TransformersAdapter"
replica.RolloutReplicaRegistry.register("transformers", lambda: TransformersReplica)
