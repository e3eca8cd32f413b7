defmodule Mote.Internal.Stray do
  # Messages that reach a process of Mote by mistake.
  #
  # 1. Nothing that a process of Mote does not know ends it or stays in its mailbox: a call is answered with
  #    `{:error, :unknown_request}`, a cast or message is ignored, and a line of the log says so.
  #
  # A GenServer says `use Mote.Internal.Stray` after its own clauses, for messages that they do not match, and
  # gives its name in `who/1`. With `hint:` the line also says what may have been meant.
  @moduledoc false

  require Logger

  defmacro __using__(opts) do
    quote do
      def handle_call(request, _from, state) do
        Mote.Internal.Stray.ignored(who(state), "call", request, unquote(opts[:hint]))
        {:reply, {:error, :unknown_request}, state}
      end

      def handle_cast(request, state) do
        Mote.Internal.Stray.ignored(who(state), "cast", request, unquote(opts[:hint]))
        {:noreply, state}
      end

      def handle_info(message, state) do
        Mote.Internal.Stray.ignored(who(state), "message", message, unquote(opts[:hint]))
        {:noreply, state}
      end
    end
  end

  @doc "Says in the log that somebody has ignored something."
  @spec ignored(String.t(), String.t(), term, String.t() | nil) :: :ok
  def ignored(who, kind, what, hint \\ nil) do
    Logger.warning("#{who} got an unexpected #{kind}#{if hint, do: "; " <> hint}: #{inspect(what)}")
  end
end
