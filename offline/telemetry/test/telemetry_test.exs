defmodule TelemetryTest do
  use ExUnit.Case

  import ExUnit.CaptureLog

  setup do
    on_exit(fn -> for %{id: id} <- :telemetry.list_handlers([]), do: :telemetry.detach(id) end)
  end

  def tell(event, measurements, metadata, pid), do: Kernel.send(pid, {:told, event, measurements, metadata})
  def break(_event, _measurements, _metadata, how), do: how.()

  test "a handler gets the event that it is attached to, and no other" do
    assert :telemetry.attach(:one, [:a, :b], &__MODULE__.tell/4, self()) == :ok
    assert :telemetry.execute([:a, :b], %{n: 1}, %{m: 2}) == :ok
    assert_received {:told, [:a, :b], %{n: 1}, %{m: 2}}

    :telemetry.execute([:a, :b], %{n: 1})
    assert_received {:told, [:a, :b], %{n: 1}, metadata} when metadata == %{}

    :telemetry.execute([:a], %{})
    :telemetry.execute([:a, :b, :c], %{})
    refute_received {:told, _, _, _}
  end

  test "an id is attached once, and detached from all of its events" do
    assert :telemetry.attach_many(:many, [[:a], [:b]], &__MODULE__.tell/4, self()) == :ok
    assert :telemetry.attach(:many, [:c], &__MODULE__.tell/4, self()) == {:error, :already_exists}
    assert :telemetry.detach(:many) == :ok
    assert :telemetry.detach(:many) == {:error, :not_found}
    :telemetry.execute([:a], %{})
    refute_received {:told, _, _, _}
  end

  test "an id is any term, also one that ETS would read as a pattern" do
    assert :telemetry.attach(:one, [:a], &__MODULE__.tell/4, 1) == :ok
    assert :telemetry.attach({:two, 2}, [:a], &__MODULE__.tell/4, 1) == :ok
    assert :telemetry.detach(:_) == {:error, :not_found}
    assert :telemetry.detach(:"$1") == {:error, :not_found}
    assert length(:telemetry.list_handlers([])) == 2
  end

  test "lists handlers by prefix" do
    :telemetry.attach_many(:many, [[:a, :b], [:c]], &__MODULE__.tell/4, :config)

    assert :telemetry.list_handlers([:a]) == [
             %{id: :many, event_name: [:a, :b], function: &__MODULE__.tell/4, config: :config}
           ]

    assert length(:telemetry.list_handlers([])) == 2
    assert :telemetry.list_handlers([:b]) == []
  end

  test "wrong names and functions are bad arguments, a local function is remarked on" do
    assert_raise ArgumentError, fn -> :telemetry.attach(:x, [], &__MODULE__.tell/4, 1) end
    assert_raise ArgumentError, fn -> :telemetry.attach(:x, ["a"], &__MODULE__.tell/4, 1) end
    assert_raise ArgumentError, fn -> :telemetry.attach(:x, [:a], fn -> 1 end, 1) end
    log = capture_log(fn -> :telemetry.attach(:x, [:a], fn _, _, _, _ -> 1 end, 1) end)
    assert log =~ "local"
  end

  test "a failing handler is detached from everything, told about, and stops nobody" do
    failures = :telemetry_test.attach_event_handlers(self(), [[:telemetry, :handler, :failure]])
    :telemetry.attach(:listener, [:a], &__MODULE__.tell/4, self())

    for {kind, how} <- [error: fn -> raise "no" end, throw: fn -> throw(:no) end, exit: fn -> exit(:no) end] do
      :telemetry.attach_many(:broken, [[:a], [:b]], &__MODULE__.break/4, how)
      assert capture_log(fn -> assert :telemetry.execute([:a], %{}) == :ok end) =~ ":broken"
      assert_received {:told, [:a], _, _}
      assert_received {[:telemetry, :handler, :failure], ^failures, measurements, metadata}
      assert %{monotonic_time: _, system_time: _} = measurements
      assert %{event_name: [:a], handler_id: :broken, handler_config: ^how, kind: ^kind} = metadata
      assert %{reason: _, stacktrace: [_ | _]} = metadata
      assert :telemetry.list_handlers([:b]) == []
    end
  end

  describe "span" do
    setup do
      %{
        ref: :telemetry_test.attach_event_handlers(self(), for(e <- [:start, :stop, :exception], do: [:s, e]))
      }
    end

    test "starts and stops with one context", %{ref: ref} do
      assert :telemetry.span([:s], %{a: 1}, fn -> {:result, %{b: 2}} end) == :result
      assert_received {[:s, :start], ^ref, %{monotonic_time: _, system_time: _}, start}
      assert_received {[:s, :stop], ^ref, %{duration: duration, monotonic_time: _}, stop}
      assert is_integer(duration) and duration >= 0
      assert %{a: 1, telemetry_span_context: context} = start
      assert stop == %{b: 2, telemetry_span_context: context}
    end

    test "takes more measurements and a context of the caller", %{ref: ref} do
      given = %{telemetry_span_context: :mine}
      assert :telemetry.span([:s], given, fn -> {1, %{size: 3}, given} end) == 1
      assert_received {[:s, :start], ^ref, _, %{telemetry_span_context: :mine}}
      assert_received {[:s, :stop], ^ref, %{size: 3, duration: _}, %{telemetry_span_context: :mine}}
    end

    test "reports what was raised and raises it again", %{ref: ref} do
      assert_raise RuntimeError, "no", fn -> :telemetry.span([:s], %{a: 1}, fn -> raise "no" end) end
      assert_received {[:s, :exception], ^ref, %{duration: _}, metadata}
      assert %{a: 1, kind: :error, reason: %RuntimeError{}, stacktrace: [_ | _]} = metadata
      assert catch_throw(:telemetry.span([:s], %{}, fn -> throw(:x) end)) == :x
      assert_received {[:s, :exception], ^ref, _, %{kind: :throw, reason: :x}}
      refute_received {[:s, :stop], _, _, _}
    end
  end

  test "without the application nobody listens, and nothing fails" do
    capture_log(fn -> Application.stop(:telemetry) end)
    assert :telemetry.execute([:a], %{}) == :ok
    assert :telemetry.list_handlers([]) == []
    Application.ensure_all_started(:telemetry)
  end
end
