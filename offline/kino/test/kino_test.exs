defmodule KinoTest do
  use ExUnit.Case, async: true
  import Kino.Test

  defmodule Counter do
    use Kino.JS
    use Kino.JS.Live

    asset("main.js", do: "export function init" <> "(ctx) {}")
    asset("main.css", do: "")

    def new(n), do: Kino.JS.Live.new(__MODULE__, n)

    @impl true
    def init(n, ctx), do: {:ok, assign(ctx, n: n)}

    @impl true
    def handle_connect(ctx), do: {:ok, ctx.assigns.n, ctx}

    @impl true
    def handle_event("add", more, ctx) do
      n = ctx.assigns.n + more
      send_event(ctx, ctx.origin, "now", n)
      {:noreply, assign(ctx, n: n)}
    end
  end

  setup :configure_livebook_bridge

  test "events go to the process of a widget, and back to who has sent them" do
    kino = Counter.new(1)
    assert connect(kino) == 1
    other = Task.async(fn -> connect(kino) && Process.info(self(), :message_queue_len) end)
    push_event(kino, "add", 2)
    assert_send_event(kino, "now", 3)
    assert Task.await(other) == {:message_queue_len, 0}
    assert connect(kino) == 3
  end

  test "a widget's files are packed when it is compiled" do
    assert %{js_path: "main.js", archive_path: path} = Counter.__assets_info__()
    {:ok, files} = :erl_tar.extract(String.to_charlist(path), [:memory, :compressed])
    assert Enum.sort(files) == [{~c"main.css", ""}, {~c"main.js", "export function init(ctx) {}"}]
  end

  test "a widget's process ends on request" do
    kino = Counter.new(0)
    monitor = Process.monitor(kino.pid)
    assert Kino.terminate_child(kino.pid) == :ok
    assert_receive {:DOWN, ^monitor, _, _, :shutdown}
  end
end
