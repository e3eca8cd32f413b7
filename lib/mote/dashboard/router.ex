defmodule Mote.Dashboard.Router do
  # The answers of a dashboard, by address. Requests that change something are POST, all others GET.
  #
  # 1. No atom is made from input: words are looked up in lists of known ones.
  # 2. Every request has an answer: what raises is logged.
  @moduledoc false

  require Logger

  alias Mote.{Address, Error, Trace}
  alias Mote.Dashboard.{Data, JSON, Lookup, Page, References, Tracing}

  @typedoc "The subject of a dashboard."
  @type context :: %{
          required(:machine) => Mote.Machine.t(),
          required(:references) => pid,
          required(:tracing) => pid,
          optional(:token) => String.t()
        }
  @type answer :: {pos_integer, [{String.t(), iodata}], iodata}

  # Milliseconds for which turns are counted, as `Mote.top/2` does by default.
  @while 200
  @by Map.new(~w(turns queued bytes running bytes_in bytes_out)a, &{Atom.to_string(&1), &1})
  @gets ~w(data behaviours top actor find graph trace)
  @posts ~w(pause resume step collect advance trace/start trace/stop)
  # Milliseconds that a request waits for the machine.
  @timeout 5_000
  @day 86_400_000

  @doc "Starts the processes that answers about a machine need, linked to the calling one."
  @spec context(Mote.Machine.t()) :: context
  def context(machine) do
    {:ok, references} = References.start_link()
    {:ok, tracing} = Tracing.start_link(machine, references)
    %{machine: machine, references: references, tracing: tracing}
  end

  @doc "Answers a request for what is behind the token in the path."
  @spec answer(String.t(), String.t(), %{String.t() => String.t()}, context) :: answer
  def answer(method, path, params, context) do
    route(method, path, params, context)
  catch
    kind, reason ->
      Logger.error(fn ->
        "a dashboard could not answer #{path}: #{Exception.format(kind, reason, __STACKTRACE__)}"
      end)

      text(500, "This could not be answered: the log says why.")
  end

  defp route("GET", "", _params, _context), do: {200, Page.headers(), Page.html()}
  defp route("GET", path, params, context) when path in @gets, do: json(fn -> get(path, params, context) end)

  defp route("POST", path, params, context) when path in @posts,
    do: json(fn -> post(path, params, context) end)

  defp route(_method, path, _params, _context) when path in @posts, do: not_allowed("POST")
  defp route(_method, path, _params, _context) when path in ["" | @gets], do: not_allowed("GET")
  defp route(_method, _path, _params, _context), do: text(404, "There is nothing of that name.")

  @doc "An answer in words."
  @spec text(pos_integer, String.t()) :: answer
  def text(status, text), do: {status, [{"content-type", "text/plain; charset=utf-8"}], [text, ?\n]}

  defp not_allowed(method) do
    {405, headers, body} = text(405, "This is asked with #{method}.")
    {405, [{"allow", method} | headers], body}
  end

  defp json(answer) do
    case answer.() do
      {:error, status, message} -> encoded(status, %{error: message})
      {:error, error} -> encoded(409, %{error: Exception.message(error), reason: error.reason})
      answer -> encoded(200, answer)
    end
  rescue
    error in Error -> encoded(409, %{error: Exception.message(error), reason: error.reason})
  end

  defp encoded(status, term), do: {status, [{"content-type", "application/json"}], JSON.encode(term)}

  # -- looking -------------------------------------------------------------------------------------------------

  defp get("data", _params, context), do: Data.snapshot(context.machine)
  defp get("behaviours", _params, context), do: Data.behaviours(context.machine, @while, keep(context))

  defp get("top", params, context) do
    with {:ok, by} <- by(params["by"]),
         {:ok, behaviour} <- behaviour(params["behaviour"], context),
         do: Data.top(context.machine, by, @while, behaviour, keep(context))
  end

  defp get("actor", params, context) do
    with {:ok, address} <- address(params["id"], context), do: Data.actor(address, keep(context))
  end

  defp get("find", params, context) do
    with {:ok, address} <- Lookup.find(params["directory"], params["key"]) do
      [id] = keep(context).([address])
      %{id: id}
    end
  end

  defp get("graph", params, context) do
    with {:ok, address} <- address(params["id"], context),
         {:ok, depth} <- integer(params, "depth", 2, 1..5),
         do: Data.graph(address, depth, keep(context))
  end

  defp get("trace", params, context) do
    with {:ok, run} <- integer(params, "run", 0, 0..@day),
         {:ok, last} <- integer(params, "after", 0, 0..@day),
         do: Tracing.turns(context.tracing, run, last)
  end

  # -- doing ---------------------------------------------------------------------------------------------------

  defp post("pause", _params, context), do: done(Mote.pause(context.machine))
  defp post("resume", _params, context), do: done(Mote.resume(context.machine))
  defp post("collect", _params, context), do: done(Mote.gc(context.machine, @timeout))

  defp post("step", params, context) do
    with {:ok, sponsor} <- sponsor(params["sponsor"], context) do
      case Mote.step(context.machine, sponsor: sponsor) do
        {:ok, turn} -> turn(turn, context)
        :idle -> %{idle: true}
        {:error, error} -> {:error, error}
      end
    end
  end

  defp post("advance", params, context) do
    with {:ok, ms} <- integer(params, "ms", nil, 0..@day) do
      if Data.snapshot(context.machine)[:clock] == :manual,
        do: done(Mote.advance(context.machine, ms, @timeout)),
        else: {:error, 400, "only a machine with clock: :manual is told how much time passes"}
    end
  end

  defp post("trace/start", params, context) do
    with {:ok, limit} <- integer(params, "limit", 100, 1..1_000),
         {:ok, filter, about} <- filter(params, context),
         do: done(Tracing.start(context.tracing, filter, about, limit))
  end

  defp post("trace/stop", _params, context), do: done(Tracing.stop(context.tracing))

  defp done(:ok), do: %{ok: true}
  defp done({:error, error}), do: {:error, error}

  defp turn(turn, context) do
    [actor] = keep(context).([turn.actor])
    %{turn: %{actor: actor, behaviour: Data.label(turn.behaviour), text: Trace.format(turn)}}
  end

  # -- what comes in -------------------------------------------------------------------------------------------

  defp keep(context), do: &References.put(context.references, &1)

  defp by(nil), do: {:ok, :turns}

  defp by(word) do
    with :error <- Map.fetch(@by, word),
         do: {:error, 400, "by is one of turns, queued, bytes, running, bytes_in and bytes_out"}
  end

  defp address(id, context) do
    case References.fetch(context.references, id) do
      {:ok, %Address{} = address} -> {:ok, address}
      _ -> {:error, 404, "this actor was shown too long ago: look for it again"}
    end
  end

  defp behaviour(nil, _context), do: {:ok, nil}

  defp behaviour(id, context) do
    case References.fetch(context.references, id) do
      {:ok, behaviour} when not is_struct(behaviour) -> {:ok, behaviour}
      _ -> {:error, 404, "this behaviour was shown too long ago: count the behaviours again"}
    end
  end

  defp sponsor(name, context) do
    case Enum.find(Mote.sponsors(context.machine), &(Atom.to_string(&1) == name)) do
      nil -> {:error, 404, "the machine has no sponsor of that name"}
      sponsor -> {:ok, sponsor}
    end
  end

  defp filter(%{"actor" => id}, context) do
    with {:ok, address} <- address(id, context), do: {:ok, [actor: address], inspect(address)}
  end

  defp filter(%{"behaviour" => id}, context) do
    case behaviour(id, context) do
      {:ok, {module, name, _} = behaviour} -> {:ok, [behaviour: {module, name}], Data.label(behaviour)}
      {:ok, :sink} -> {:error, 400, "a sink has no module to trace by"}
      error -> error
    end
  end

  defp filter(%{"sponsor" => name}, context) do
    with {:ok, sponsor} <- sponsor(name, context),
         do: {:ok, [sponsor: sponsor], "sponsor #{inspect(sponsor)}"}
  end

  defp filter(_params, _context), do: {:ok, [], "all turns"}

  defp integer(params, key, default, range) do
    with {:ok, text} <- Map.fetch(params, key),
         true <- byte_size(text) <= 20,
         {n, ""} <- Integer.parse(text),
         true <- n in range do
      {:ok, n}
    else
      :error when default != nil -> {:ok, default}
      _ -> {:error, 400, "#{key} is an integer from #{range.first} to #{range.last}"}
    end
  end
end
