defmodule Mote.Mailbox do
  @moduledoc "What has come to the process of a test."

  import ExUnit.Assertions

  @doc "All messages that are there, in their order."
  @spec messages() :: [term]
  def messages do
    receive do
      message -> [message | messages()]
    after
      0 -> []
    end
  end

  @doc "Nothing has come after so many milliseconds, and no monitor is left: of a question, for instance."
  @spec nothing_left(non_neg_integer) :: true
  def nothing_left(ms \\ 0) do
    Process.sleep(ms)
    assert Process.info(self(), [:messages, :monitors]) == [messages: [], monitors: []]
  end
end
