defmodule Mote.Machine.Caller do
  # The context that a turn which may call any Elixir takes over from the process that waits for it, as a `Task` does from
  # its parent: `$callers`, by which Ecto's sandbox and Mox find the test, and Logger's metadata.
  #
  # Nothing is kept when a question is asked: the turn looks into the process itself. So nobody pays for it but turns that are asked.
  @moduledoc false

  # Where Elixir and Erlang's logger keep them.
  @callers :"$callers"
  @metadata :"$logger_metadata$"

  @doc "The calling process works for that one, which is of this node."
  @spec follow(pid) :: :ok
  def follow(asker) do
    {callers, metadata} = look(asker)
    Process.put(@callers, [asker | callers])
    if is_map(metadata) and metadata != %{}, do: :logger.set_process_metadata(metadata)
    :ok
  end

  # It may have ended, and its dictionary may have anything.
  if String.to_integer(System.otp_release()) >= 27 do
    defp look(asker) do
      case Process.info(asker, [{:dictionary, @callers}, {:dictionary, @metadata}]) do
        [{_, callers}, {_, metadata}] -> {list(callers), metadata}
        nil -> {[], nil}
      end
    end
  else
    defp look(asker) do
      case Process.info(asker, :dictionary) do
        {:dictionary, all} -> {list(all[@callers]), all[@metadata]}
        nil -> {[], nil}
      end
    end
  end

  defp list(callers), do: if(is_list(callers), do: callers, else: [])
end
