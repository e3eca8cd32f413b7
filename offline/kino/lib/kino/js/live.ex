defmodule Kino.JS.Live do
  @moduledoc """
  A widget with a process. Its callbacks take and return a `Kino.JS.Live.Context`. Browsers send events to it, and get
  events from it.
  """

  alias Kino.JS.Live.{Context, Server}

  defstruct [:module, :pid, :ref, :export]

  @opaque t :: %__MODULE__{module: module, pid: pid, ref: String.t(), export: boolean}

  @callback init(arg :: term, ctx :: Context.t()) :: {:ok, Context.t()}
  @callback handle_connect(ctx :: Context.t()) :: {:ok, payload :: term, Context.t()}
  @callback handle_event(event :: String.t(), payload :: term, ctx :: Context.t()) :: {:noreply, Context.t()}
  @callback handle_info(message :: term, ctx :: Context.t()) :: {:noreply, Context.t()}
  @optional_callbacks init: 2, handle_event: 3, handle_info: 2

  defmacro __using__(_opts) do
    quote do
      @behaviour Kino.JS.Live
      import Kino.JS.Live.Context, only: [assign: 2, send_event: 4]
    end
  end

  @doc "Starts the process of a widget of `module`."
  @spec new(module, term) :: t
  def new(module, init_arg) do
    ref = Base.encode32(:crypto.strong_rand_bytes(20), case: :lower)

    case Kino.start_child({Server, {module, init_arg, ref}}) do
      {:ok, pid} -> %__MODULE__{module: module, pid: pid, ref: ref, export: false}
      {:error, reason} -> raise ArgumentError, "could not start #{module}, #{Exception.format_exit(reason)}"
    end
  end
end

defmodule Kino.JS.Live.Context do
  @moduledoc "The state of a widget's process, and who has sent the event that it handles (`:origin`)."

  defstruct assigns: %{}, origin: nil, __private__: %{}

  @type t :: %__MODULE__{assigns: map, origin: term, __private__: map}

  @doc "Stores keys with their values in the state."
  @spec assign(t, Enumerable.t()) :: t
  def assign(%__MODULE__{} = ctx, assigns), do: %{ctx | assigns: Enum.into(assigns, ctx.assigns)}

  @doc "Sends an event to one browser; to none if it has gone."
  @spec send_event(t, term, String.t(), term) :: :ok
  def send_event(%__MODULE__{} = ctx, client, event, payload) when is_binary(event) do
    %{ref: ref, clients: clients} = ctx.__private__
    if pid = clients[client], do: send(pid, {:event, event, payload, %{ref: ref}})
    :ok
  end
end

defmodule Kino.JS.Live.Server do
  @moduledoc false
  use GenServer, restart: :temporary

  alias Kino.JS.Live.Context

  def start_link(argument), do: GenServer.start_link(__MODULE__, argument)

  @impl true
  def init({module, argument, ref}) do
    ctx = %Context{__private__: %{ref: ref, clients: %{}}}
    {:ok, ctx} = if exports?(module, :init, 2), do: module.init(argument, ctx), else: {:ok, ctx}
    {:ok, %{module: module, ctx: ctx}}
  end

  @impl true
  def handle_info({:connect, pid, %{origin: origin}}, %{module: module} = state) do
    %{ctx: ctx} = put_in(state.ctx.__private__.clients[origin], pid)
    {:ok, data, ctx} = module.handle_connect(%{ctx | origin: origin})
    send(pid, {:connect_reply, data, %{ref: ctx.__private__.ref}})
    {:noreply, %{state | ctx: %{ctx | origin: nil}}}
  end

  def handle_info({:event, event, payload, %{origin: origin}}, %{module: module} = state) do
    {:noreply, ctx} = module.handle_event(event, payload, %{state.ctx | origin: origin})
    {:noreply, %{state | ctx: %{ctx | origin: nil}}}
  end

  def handle_info(message, %{module: module} = state) do
    {:noreply, ctx} =
      if exports?(module, :handle_info, 2),
        do: module.handle_info(message, state.ctx),
        else: {:noreply, state.ctx}

    {:noreply, %{state | ctx: ctx}}
  end

  defp exports?(module, function, arity) do
    Code.ensure_loaded?(module) and function_exported?(module, function, arity)
  end
end
