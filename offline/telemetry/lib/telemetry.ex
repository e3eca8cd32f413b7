defmodule :telemetry do
  @moduledoc """
  Events: whoever has something to tell executes one, whoever wants to know attaches a function to its name.

  A fallback for building without Hex, with the names and results of the real package. Handlers run in the
  process that executes the event, in no promised order.
  """

  require Logger

  @type event_name :: [atom, ...]
  @type handler_id :: term
  @typedoc "`() -> {result, stop_metadata} | {result, extra_measurements, stop_metadata}`"
  @type span_function :: fun
  @type handler_function :: (event_name, map, map, term -> any)
  @type handler :: %{
          id: handler_id,
          event_name: event_name,
          function: handler_function,
          config: term
        }

  @failure [:telemetry, :handler, :failure]

  @doc """
  Attaches `function` to the event of exactly this name.
  """
  @spec attach(handler_id, event_name, handler_function, term) :: :ok | {:error, :already_exists}
  def attach(id, event_name, function, config) do
    attach_many(id, [event_name], function, config)
  end

  @doc """
  Attaches `function` to each of the events, all under one id.
  """
  @spec attach_many(handler_id, [event_name], handler_function, term) :: :ok | {:error, :already_exists}
  def attach_many(id, event_names, function, config)
      when is_list(event_names) and is_function(function, 4) do
    Enum.each(event_names, &check_name/1)

    unless external?(function) do
      Logger.info(
        "telemetry handler #{inspect(id)} is a local or anonymous function, which is slower to call and is lost " <>
          "when its module is upgraded; &Module.function/4 is neither"
      )
    end

    :telemetry_handler_table.insert(id, event_names, function, config)
  end

  def attach_many(_id, _event_names, _function, _config), do: :erlang.error(:badarg)

  @doc """
  Removes the handler from all of its events.
  """
  @spec detach(handler_id) :: :ok | {:error, :not_found}
  def detach(id), do: :telemetry_handler_table.delete(id)

  @doc """
  Calls every handler of the event. A handler that fails is detached, and the others still run.
  """
  @spec execute(event_name, map, map) :: :ok
  def execute(event_name, measurements, metadata \\ %{})
      when is_list(event_name) and is_map(measurements) and is_map(metadata) do
    for {_event, id, function, config} <- :telemetry_handler_table.lookup(event_name) do
      try do
        function.(event_name, measurements, metadata, config)
      catch
        kind, reason -> failed(event_name, id, config, kind, reason, __STACKTRACE__)
      end
    end

    :ok
  end

  @doc """
  Runs `function` between the events `prefix ++ [:start]` and `prefix ++ [:stop]`, or `prefix ++ [:exception]`
  when it raises, throws or exits.

  `function` returns `{result, stop_metadata}` or `{result, extra_measurements, stop_metadata}`; `span/3` returns
  the result.
  """
  @spec span(event_name, map, span_function) :: term
  def span(prefix, start_metadata, function) when is_map(start_metadata) and is_function(function, 0) do
    started = :erlang.monotonic_time()
    context = %{telemetry_span_context: make_ref()}
    start_metadata = Map.merge(context, start_metadata)

    execute(
      prefix ++ [:start],
      %{monotonic_time: started, system_time: :erlang.system_time()},
      start_metadata
    )

    try do
      function.()
    catch
      kind, reason ->
        stacktrace = __STACKTRACE__
        failure = %{kind: kind, reason: reason, stacktrace: stacktrace}
        execute(prefix ++ [:exception], since(started), Map.merge(start_metadata, failure))
        :erlang.raise(kind, reason, stacktrace)
    else
      {result, stop_metadata} when is_map(stop_metadata) ->
        execute(prefix ++ [:stop], since(started), Map.merge(context, stop_metadata))
        result

      {result, extra, stop_metadata} when is_map(extra) and is_map(stop_metadata) ->
        execute(prefix ++ [:stop], Map.merge(extra, since(started)), Map.merge(context, stop_metadata))
        result
    end
  end

  @doc """
  The handlers of all events whose names start with `prefix`, one entry per handler and event.
  """
  @spec list_handlers([atom]) :: [handler]
  def list_handlers(prefix) when is_list(prefix) do
    for {event_name, id, function, config} <- :telemetry_handler_table.all(),
        List.starts_with?(event_name, prefix) do
      %{id: id, event_name: event_name, function: function, config: config}
    end
  end

  defp since(started) do
    now = :erlang.monotonic_time()
    %{duration: now - started, monotonic_time: now}
  end

  defp failed(event_name, id, config, kind, reason, stacktrace) do
    detach(id)

    # Nobody may be told of the failure of a failure handler by failing again.
    execute(
      @failure,
      %{monotonic_time: :erlang.monotonic_time(), system_time: :erlang.system_time()},
      %{
        event_name: event_name,
        handler_id: id,
        handler_config: config,
        kind: kind,
        reason: reason,
        stacktrace: stacktrace
      }
    )

    Logger.error(
      "telemetry handler #{inspect(id)} failed and has been detached:\n" <>
        Exception.format(kind, reason, stacktrace)
    )
  end

  defp check_name([_ | _] = name) do
    unless Enum.all?(name, &is_atom/1), do: :erlang.error(:badarg)
  end

  defp check_name(_name), do: :erlang.error(:badarg)

  defp external?(function), do: :erlang.fun_info(function, :type) == {:type, :external}
end
